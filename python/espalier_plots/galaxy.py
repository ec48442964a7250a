# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured of disc galaxies, from arrays of particles: the frame of a disc, rings with rotation, dispersions,
surface density and height, circular velocity, epicyclic frequency, Toomre's Q, Fourier modes and pattern speed.
Everything is in the units of the arrays."""
import numpy as np

from .measure import deepest, densest_centre, mean_velocity

MODES = (1, 2, 3, 4, 5, 6)
LEAST = 20          # particles of a ring; rings with fewer are left out
FLAT = 0.5          # rotation of a type from which it is a disc
TOOMRE = 3.36       # of stars: Q = kappa sigma_R / (3.36 G Sigma)
WINDOW = np.log(1.5)   # half-width in ln R of the parabola that gives the slope of the circular velocity
SOFT = 0.02         # of the half-mass radius: the softening where none is known
SOME = 20000        # particles that are enough for a first estimate
DARK = 1            # the type of dark matter, which has no part in the centre of a galaxy unless it is the disc
BATCH = 1 << 14     # particles at a time, whose arrays stay in the cache


class NoDisc(ValueError):
    """The particles have no disc, in words."""


def angular(pos, vel, mass):
    """Angular momentum of each particle about the origin, [N,3]."""
    return mass[:, None] * np.cross(pos, vel)


def rotation_of(pos, vel, mass):
    """|sum of angular momenta| / sum of |angular momenta|: 1 of a thin cold disc, about N^-1/2 of a sphere without
    rotation, 0 of no particles."""
    each = angular(pos, vel, mass)
    total = np.linalg.norm(each, axis=1).sum()
    return float(np.linalg.norm(each.sum(axis=0)) / total) if total > 0 else 0.0


def axes_along(direction, start=None):
    """Rows are the axes of a disc whose angular momentum has this direction: z along it, x the projection of `start`
    into the disc. Without one, or along z, that is the x axis, or the y axis where z is within 45 degrees of x: phases
    in analysis.csv count from the same."""
    z = direction / np.linalg.norm(direction)
    if start is None or abs(start @ z) > 0.99:
        start = np.eye(3)[1 if abs(z[0]) > np.sqrt(0.5) else 0]
    x = start - (start @ z) * z
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(z, x), z])


def middle_of(pos, vel, mass, start):
    """Centre of a disc and its velocity: the means of the half of the particles that is nearest to it, from a place
    near it."""
    centre, near = np.asarray(start, dtype=float), None
    if len(mass) > 2 * SOME:   # some of them lead near it
        some = slice(None, None, len(mass) // SOME)
        centre, _ = middle_of(pos[some], vel[some], mass[some], centre)
    for _ in range(300):
        distance = ((pos - centre) ** 2).sum(axis=1)
        middle, before = np.median(distance), near
        near = distance <= middle
        if before is not None and np.array_equal(near, before):
            break
        last, centre = centre, mean_velocity(pos[near], mass[near])
        if ((centre - last) ** 2).sum() < 1e-14 * middle:
            break
    return centre, mean_velocity(vel[near], mass[near])


def centre_of(pos, mass):
    """The centre of a galaxy's stars, or of another set: the bottom of their own smoothed well (deepest) about their
    densest place; a bulge, where there is one, determines it."""
    start = densest_centre(pos, mass)
    if len(mass) > 2 * SOME:
        some = slice(None, None, len(mass) // SOME)
        start = deepest(pos[some], mass[some], start)
    return deepest(pos, mass, start)


def face_on(pos, vel, mass, start=None):
    """The axes (axes_along) of the disc of particles about the origin: of the nearest 90 % of them. NoDisc: they do not
    rotate."""
    distance = np.linalg.norm(pos, axis=1)
    rows = distance <= np.quantile(distance, 0.9) if len(pos) else slice(0)
    pos, vel, mass = pos[rows], vel[rows], mass[rows]
    least = max(0.05, 4 / np.sqrt(max(len(mass), 1)))
    if len(mass) < LEAST:
        raise NoDisc(f"has {len(mass)} particles, too few for the plane of a disc")
    found = rotation_of(pos, vel, mass)
    if not found > least:
        raise NoDisc(f"does not rotate: its angular momenta add up to {100 * found:.2g} % of the sum of their "
                     f"magnitudes, and {100 * least:.2g} % is noise")
    return axes_along(angular(pos, vel, mass).sum(axis=0), start)


def elliptic(rest):
    """Complete elliptic integrals K and E of the parameter 1 - rest, by means of arithmetic and geometric means."""
    a, b = np.ones_like(rest), np.sqrt(rest)
    total, power = 1 - 0.5 * (1 - rest), 1.0
    while True:
        c = 0.5 * (a - b)
        total -= power * c * c
        a, b = 0.5 * (a + b), np.sqrt(a * b)
        power *= 2
        if not len(c) or float(np.max(c)) < 1e-8:
            break
    first = np.pi / (2 * a)
    return first, first * total


def circular_squared(radii, pos, mass, softening, gravity=1.0):
    """R times the inward force per mass at these radii in the plane z = 0, averaged over the azimuth: v_c^2 of the
    particles about the origin. Exact of softened point masses: each one is a ring. softening: Plummer's, one value or
    one of each particle."""
    ring = np.hypot(pos[:, 0], pos[:, 1])
    above = pos[:, 2] ** 2 + np.asarray(softening, dtype=float) ** 2
    out = np.zeros(len(radii))
    for number, radius in enumerate(radii):
        for begin in range(0, len(ring), BATCH):
            part = slice(begin, begin + BATCH)
            near = np.maximum((radius - ring[part]) ** 2 + above[part], 1e-24 * radius**2)
            far = (radius + ring[part]) ** 2 + above[part]
            first, second = elliptic(near / far)
            pull = (radius**2 - ring[part] ** 2 - above[part]) / near * second + first
            out[number] += gravity / np.pi * (mass[part] / np.sqrt(far) * pull).sum()
    return out


def slope_at(radius, radii, squared):
    """d ln v_c / d ln R at a radius, by a parabola through ln v_c^2 over a factor of 1.5 to both sides; nan where there
    are too few positive values."""
    x = np.log(radii / radius)
    good = (np.abs(x) <= WINDOW * (1 + 1e-9)) & (squared > 0)
    if good.sum() < 4:
        return np.nan
    return 0.5 * np.polyfit(x[good], np.log(squared[good]), 2)[1]


def rings_of(pos, vel, mass, edges, least=LEAST):
    """Rings between these radii, about the z axis, of columns R (mean), count, surface_density, v_phi, v_R, sigma_R,
    sigma_phi, sigma_z, z_rms, height; all weighted by mass. height is sqrt(12) / pi z_rms: of sech^2(z / height) it is
    the scale height. Rings of fewer than `least` particles are nan, but for their count."""
    radius = np.hypot(pos[:, 0], pos[:, 1])
    inverse = 1 / np.where(radius > 0, radius, 1)
    out = (pos[:, 0] * vel[:, 0] + pos[:, 1] * vel[:, 1]) * inverse
    along = (pos[:, 0] * vel[:, 1] - pos[:, 1] * vel[:, 0]) * inverse
    number = np.searchsorted(edges, radius, side="right") - 1
    inside = (number >= 0) & (number < len(edges) - 1)
    number, size = number[inside], len(edges) - 1
    count = np.bincount(number, minlength=size)
    total = np.where(count >= least, np.bincount(number, mass[inside], size), np.nan)
    total = np.where(total > 0, total, np.nan)

    def mean(values):
        return np.bincount(number, mass[inside] * values[inside], size) / total

    def spread(values):
        middle = np.nan_to_num(mean(values))
        rest = values[inside] - middle[number]
        return np.sqrt(np.bincount(number, mass[inside] * rest**2, size) / total)

    thick = spread(pos[:, 2])
    return {"R": mean(radius), "count": count, "surface_density": total / (np.pi * np.diff(np.square(edges))),
            "v_phi": mean(along), "v_R": mean(out), "sigma_R": spread(out), "sigma_phi": spread(along),
            "sigma_z": spread(vel[:, 2]), "z_rms": thick, "height": np.sqrt(12) / np.pi * thick}


def modes_of(pos, mass, inner=0.0, outer=np.inf, modes=MODES):
    """A_m / A_0 and phases of the modes of the mass between two radii: A_m exp(i m phase) is the sum of
    mass exp(i m phi), A_0 that of the mass. Phases are above -pi / m, at most pi / m. nan without mass."""
    radius = np.hypot(pos[:, 0], pos[:, 1])
    rows = (radius >= inner) & (radius < outer) & (radius > 0)
    held, turn = mass[rows], (pos[rows, 0] + 1j * pos[rows, 1]) / radius[rows]
    total = held.sum() if len(held) and held.sum() > 0 else np.nan
    sums = np.array([(held * turn**m).sum() / total for m in modes])
    return np.abs(sums), np.angle(sums) / np.asarray(modes)


def speed_of_mode(pos, vel, mass, outer, m=2):
    """The pattern speed of mode m within a radius at one time, from the velocities (Dehnen, Semczuk and Aerssens 2023,
    MNRAS 518, 2712): the rate of the phase of the sum of mass W(R) exp(i m phi), whose weight W = x^2 (1 - x^2)^2 with
    x = R / outer vanishes smoothly at the edge, so that particles that enter or leave do not count."""
    radius = np.hypot(pos[:, 0], pos[:, 1])
    rows = (radius < outer) & (radius > 0)
    pos, vel, mass, x = pos[rows, :2], vel[rows, :2], mass[rows], radius[rows] / outer
    out = (pos * vel).sum(axis=1) / radius[rows]
    turning = (pos[:, 0] * vel[:, 1] - pos[:, 1] * vel[:, 0]) / radius[rows] ** 2
    wave = ((pos[:, 0] + 1j * pos[:, 1]) / radius[rows]) ** m
    weight, rate = x**2 * (1 - x**2) ** 2, 2 * x * (1 - x**2) * (1 - 3 * x**2) / outer
    total = (mass * weight * wave).sum()
    change = (mass * (rate * out + 1j * m * weight * turning) * wave).sum()
    return float((change / total).imag / m) if abs(total) > 0 else np.nan


def pattern_speed(times, phases, guesses=None, m=2):
    """Middle times and pattern speeds between successive times, from the phases of a mode m, which are known up to
    2 pi / m. Without guesses of the speed at each time (speed_of_mode) the phase turns by less than pi / m between two
    times; with them by what is nearest to their mean. ValueError: fewer than two different times."""
    times, phases = np.asarray(times, dtype=float), np.asarray(phases, dtype=float)
    if len(times) < 2 or not (np.diff(times) > 0).all():
        raise ValueError(f"expected two or more ascending times for a pattern speed, found {len(times)}"
                         if len(times) < 2 else "expected ascending times for a pattern speed")
    step, turn, whole = np.diff(times), np.diff(phases), 2 * np.pi / m
    expected = np.zeros(len(step))
    if guesses is not None:
        guesses = np.asarray(guesses, dtype=float)
        expected = np.nan_to_num(0.5 * (guesses[1:] + guesses[:-1])) * step
    turn = turn + whole * np.round((expected - turn) / whole)
    return 0.5 * (times[1:] + times[:-1]), turn / step


class Disc:
    """A galaxy in the frame of the disc of one type: about its centre, at rest with the stars within the radius of half
    of the disc, z along the disc's angular momentum.

    pos, vel, mass, types  all particles, which attract each other
    type          that of the disc [the one that rotates most]
    gravity       gravitational constant in their units
    softening     Plummer's, of each of six types, or one for all [SOFT of the half-mass radius in the plane]
    centre        the centre, exactly [the bottom of the well of the stars: of all types but DARK, and of the disc's]
    chosen        mask of one galaxy of several, of which the centre and, of those of the type, the frame are [all]
    axis          x is the projection of this direction into the disc (axes_along)

    Methods measure the disc's type unless another one is named: rings(), modes(), mode_rings(), speed(), and
    circular() and epicyclic() of the forces of all.
    """

    def __init__(self, pos, vel, mass, types, type=None, gravity=1.0, softening=None, centre=None, chosen=None,
                 axis=None):
        self.gravity, self.mass, self.types = gravity, mass, types
        self.type = self.most_rotating(pos, vel) if type is None else int(type)
        rows = (types == self.type) & (True if chosen is None else chosen)
        if not rows.any() or not mass[rows].sum() > 0:
            of_them = "" if chosen is None or not (types == self.type).any() else " among those that are followed"
            raise NoDisc(f"has no particles with mass of type {self.type}{of_them} (it has type "
                         f"{', '.join(str(k) for k in np.unique(types))})")
        stars = rows | ((types != DARK) & (mass > 0) & (True if chosen is None else chosen))
        self.origin = np.asarray(centre, dtype=float) if centre is not None else \
            deepest(pos[stars], mass[stars], centre_of(pos[rows], mass[rows]))   # the galaxy that the disc is in
        distance = ((pos - self.origin) ** 2).sum(axis=1)
        near = stars & (distance <= np.median(distance[rows]))
        self.motion = mean_velocity(vel[near], mass[near])
        pos, vel = pos - self.origin, vel - self.motion
        self.chosen = rows
        try:
            self.axes = face_on(pos[rows], vel[rows], mass[rows], axis)
        except NoDisc as fault:
            raise NoDisc(f"has no disc of type {self.type}: the type {fault}") from None
        self.pos, self.vel = pos @ self.axes.T, vel @ self.axes.T
        self.total = None   # of field()
        softening = SOFT * self.holds(0.5) if softening is None else softening
        self.softening = np.broadcast_to(np.asarray(softening, dtype=float), (6,))

    def most_rotating(self, pos, vel):
        """The type with the most ordered rotation about its own core, of those with enough particles."""
        found = {}
        for kind in np.unique(self.types):
            rows = np.flatnonzero((self.types == kind) & (self.mass > 0))
            if len(rows) >= LEAST:
                rows = rows[::max(len(rows) // SOME, 1)]
                centre, motion = middle_of(pos[rows], vel[rows], self.mass[rows],
                                           densest_centre(pos[rows], self.mass[rows]))
                found[int(kind)] = rotation_of(pos[rows] - centre, vel[rows] - motion, self.mass[rows])
        if not found:
            raise NoDisc(f"has no type with {LEAST} particles, too few for a disc")
        return max(found, key=found.get)

    def of(self, kind):
        """Mask of a type's particles, or of all (None)."""
        return np.full(len(self.mass), True) if kind is None else self.types == kind

    def kinds(self):
        """Types that have particles with mass."""
        return [int(kind) for kind in np.unique(self.types[self.mass > 0])]

    def is_disc(self, kind):
        """Whether a type rotates as a disc does; the one of the frame always does."""
        rows = self.of(kind)
        return kind == self.type or rotation_of(self.pos[rows], self.vel[rows], self.mass[rows]) > FLAT

    def holds(self, part, kind=None):
        """The radius in the plane that holds a part of the mass of a type [of those that make the plane]."""
        rows = self.chosen if kind is None else self.of(kind)
        radius = np.hypot(self.pos[rows, 0], self.pos[rows, 1])
        order = np.argsort(radius)
        sums = np.cumsum(self.mass[rows][order])
        return float(radius[order][np.searchsorted(sums, part * sums[-1]).clip(0, len(sums) - 1)])

    def edges(self, bins=20, outer=None):
        """Ends of rings of one width, out to what holds 95 % of the frame's type, or to a radius."""
        return np.linspace(0, self.holds(0.95) if outer is None else outer, bins + 1)

    def circular_by_type(self, radii):
        """{type: v_c^2 from its particles alone} at these radii: sums to that of all. A pair has the larger softening
        of the type and of the frame's type."""
        return {kind: circular_squared(radii, self.pos[rows], self.mass[rows],
                                       max(self.softening[kind], self.softening[self.type]), self.gravity)
                for kind in self.kinds() for rows in [self.of(kind)]}

    def circular(self, radii):
        """Circular velocity at these radii, from the forces of all particles in the plane, averaged over the azimuth;
        nan where they push outwards."""
        total = sum(self.circular_by_type(np.asarray(radii, dtype=float)).values())
        return np.sqrt(np.where(total > 0, total, np.nan))

    def field(self, inner, outer):
        """Radii at least from `inner` / 1.5 to `outer` * 1.5, and v_c^2 there by type; kept for later calls."""
        span = inner * np.exp(-WINDOW), outer * np.exp(WINDOW)
        if self.total is None or self.total[0][0] > span[0] or self.total[0][-1] < span[1]:
            grid = np.geomspace(*span, max(16, int(np.ceil(np.log(span[1] / span[0]) / (WINDOW / 8)))))
            self.total = grid, self.circular_by_type(grid)
        return self.total

    def epicyclic(self, radii):
        """v_c, Omega and kappa at these radii: kappa^2 = 2 Omega^2 (1 + d ln v_c / d ln R)."""
        radii = np.asarray(radii, dtype=float)
        good = radii[np.isfinite(radii)]
        if not len(good):
            return np.full((3, len(radii)), np.nan)
        grid, parts = self.field(good.min(), good.max())
        squared = sum(parts.values())
        speed = np.sqrt(np.interp(np.log(radii), np.log(grid), np.maximum(squared, 0)))
        slope = np.array([slope_at(radius, grid, squared) if np.isfinite(radius) else np.nan for radius in radii])
        omega = speed / radii
        return speed, omega, omega * np.sqrt(np.maximum(2 * (1 + slope), 0))

    def rings(self, kind=None, edges=None):
        """Rings (rings_of) of a type [that of the frame], with v_c, Omega, kappa and Toomre's Q of this type."""
        kind, _ = self.kind_within(kind, 0)
        rows = self.of(kind)
        edges = self.edges() if edges is None else edges
        found = rings_of(self.pos[rows], self.vel[rows], self.mass[rows], edges)
        self.field(max(edges[0], 0.4 * edges[1]), edges[-1])   # one for the rings of all types
        found["v_c"], found["Omega"], found["kappa"] = self.epicyclic(found["R"])
        with np.errstate(divide="ignore", invalid="ignore"):
            found["Q"] = found["kappa"] * found["sigma_R"] / (TOOMRE * self.gravity * found["surface_density"])
        return found

    def kind_within(self, kind, outer):
        """A type [that of the frame], and a radius [the half-mass radius of the type in the plane]."""
        kind = self.type if kind is None else int(kind)
        if not self.of(kind).any():
            raise NoDisc(f"has no particles of type {kind}")
        return kind, self.holds(0.5, kind) if outer is None else outer

    def modes(self, kind=None, inner=0.0, outer=None, modes=MODES):
        """A_m / A_0 and phases (modes_of) of a type [that of the frame], within its half-mass radius in the plane or
        between two radii."""
        kind, outer = self.kind_within(kind, outer)
        rows = self.of(kind)
        return modes_of(self.pos[rows], self.mass[rows], inner, outer, modes)

    def mode_rings(self, kind=None, edges=None, modes=MODES):
        """Mean radius and A_m / A_0 by ring, [ring] and [ring][mode]; nan of few particles."""
        kind, _ = self.kind_within(kind, 0)
        edges = self.edges() if edges is None else edges
        rows = self.of(kind)
        rings = rings_of(self.pos[rows], self.vel[rows], self.mass[rows], edges)
        found = np.array([modes_of(self.pos[rows], self.mass[rows], a, b, modes)[0]
                          for a, b in zip(edges[:-1], edges[1:])])
        return rings["R"], np.where(np.isfinite(rings["R"])[:, None], found, np.nan)

    def speed(self, kind=None, outer=None, m=2):
        """Pattern speed at this time from the velocities (speed_of_mode), within the same radius as modes()."""
        kind, outer = self.kind_within(kind, outer)
        rows = self.of(kind)
        return speed_of_mode(self.pos[rows], self.vel[rows], self.mass[rows], outer, m)
