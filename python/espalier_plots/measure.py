# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that pictures show, from arrays of particles: smoothed maps, phase-space densities, centres, profiles,
Lagrangian radii."""
import numpy as np

AXES = {"xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
FEW = 32      # particles about one give the width of its Gaussian in maps of density
LEAST = 200   # particles in the sphere that determines a centre
MEAN = 1000   # particles whose mean is the velocity of a frame, of a set of twice as many or more


def smoothed(x, y, weights, half, pixels, few=FEW, number=None, least=0.8):
    """Sums of each of `weights` per area on a grid of pixels^2 over [-half, half]^2: every particle is a Gaussian as
    wide as the `few` particles about it are apart, so that thin regions are smooth and dense ones sharp. Widths are
    rounded to a few sizes, and each size is one convolution. Returns a list of grids, [row of y][column of x].

    number: of particles that each one stands for [1]; least: width of the narrowest Gaussian in pixels"""
    margin = pixels // 4                      # what lies outside still reaches in
    size = pixels + 2 * margin
    scale = pixels / (2 * half)
    px, py = (x + half) * scale + margin, (y + half) * scale + margin
    inside = (px >= 0) & (px < size) & (py >= 0) & (py < size)
    px, py, weights = px[inside], py[inside], [w[inside] for w in weights]
    number = None if number is None else number[inside]
    cell = py.astype(np.int64) * size + px.astype(np.int64)
    frequency = np.fft.fftfreq(size)[:, None] ** 2 + np.fft.rfftfreq(size)[None, :] ** 2

    def gathered(rows, weight=None):
        return np.bincount(cell[rows], weight, size * size).reshape(size, size)

    def smooth(grid, sigma):
        return np.fft.irfft2(np.fft.rfft2(grid) * np.exp(-2 * np.pi**2 * sigma**2 * frequency), s=grid.shape)

    count = gathered(slice(None), number)
    density, coarse = smooth(count, 4.0).ravel(), smooth(count, 16.0).ravel()
    near = np.where(density[cell] > 0.2, density[cell], np.maximum(coarse[cell], 1e-3))
    sigma = np.clip(np.sqrt(few / (2 * np.pi * near)), least, max(least, margin / 3))
    level = 2 * np.log2(sigma / 0.8)
    low = np.floor(level).astype(int)
    part = level - low
    totals = [np.zeros((size, size)) for _ in weights]
    for step in range(low.max() + 2 if len(low) else 0):
        rows = np.flatnonzero((low == step) | (low == step - 1))
        share = np.where(low[rows] == step, 1 - part[rows], part[rows])
        if len(rows):
            for total, weight in zip(totals, weights):
                total += smooth(gathered(rows, weight[rows] * share), 0.8 * 2 ** (step / 2))
    return [total[margin:-margin, margin:-margin] * scale**2 for total in totals]


def surface_density(x, y, mass, half, pixels, few=FEW, number=None, least=0.8):
    """Mass per area on a grid (smoothed)."""
    return np.maximum(smoothed(x, y, [mass], half, pixels, few, number, least)[0], 0)


def velocity_maps(x, y, v, mass, half, pixels, few=128):
    """Surface density, mean of v and its dispersion, weighted by mass, on grids, over more particles than maps of
    density alone, so that the means are no noise; the velocities are nan where there is no mass."""
    density, flow, square = smoothed(x, y, [mass, mass * v, mass * v * v], half, pixels, few)
    density = np.maximum(density, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(density > 1e-12 * density.max(initial=0.0), flow / density, np.nan)
        width = np.sqrt(np.maximum(square / density - mean**2, 0))
    return density, mean, width


def phase_density(pos, vel, mass, coordinate, half, speed, pixels):
    """Mass per area of phase space: x, y or z and its velocity over [-half, half] x [-speed, speed], or "r", the
    distance over
    [0, half] and the velocity away from the origin."""
    if coordinate == "r":
        radius = np.linalg.norm(pos, axis=1)
        v = (pos * vel).sum(axis=1) / np.where(radius > 0, radius, 1)
        # mirrored at r = 0, so that smoothing loses nothing there
        x = np.concatenate([2 * radius / half - 1, -2 * radius / half - 1])
        v, mass, area = np.concatenate([v, v]), np.concatenate([mass, mass]), half / 2 * speed
    else:
        axis = "xyz".index(coordinate)
        x, v, area = pos[:, axis] / half, vel[:, axis], half * speed
    return surface_density(x, v / speed, mass, 1.0, pixels) / area


def densest(pos, mass, least=LEAST):
    """The densest place: centre of mass of a sphere that shrinks by a tenth until few particles are left. Returns it,
    and the rows of the particles in the last sphere. Particles without any mass count alike; of none the place is the
    origin."""
    rows = np.arange(len(pos))
    if not len(rows):
        return np.zeros(3), rows
    mass = mass if mass.sum() > 0 else np.ones(len(rows))
    centre = np.average(pos, axis=0, weights=mass)
    radius2 = ((pos - centre) ** 2).sum(axis=1)
    radius = np.sqrt(np.quantile(radius2, 0.95))
    while len(rows) > least:
        inside = ((pos[rows] - centre) ** 2).sum(axis=1) < radius**2
        if inside.sum() < least:
            break
        rows = rows[inside]
        held = mass[rows]
        centre = np.average(pos[rows], axis=0, weights=held) if held.sum() > 0 else pos[rows].mean(axis=0)
        radius *= 0.9
    return centre, rows


def densest_centre(pos, mass, least=LEAST):
    """The densest place (densest)."""
    return densest(pos, mass, least)[0]


def deepest(pos, mass, start, part=0.1, least=LEAST):
    """The bottom of the smoothed potential well of particles near a place: the maximum of the sum of
    m / sqrt(r^2 + h^2). h holds this part of them and at least `least`, or half of few; unequal masses count as the
    equal ones that have their noise. It is exact to about h / sqrt(least), better in a cusp, and does not follow arms
    and one-sided discs as a mean does. Particles without any mass: the start."""
    centre = np.asarray(start, dtype=float)
    held = mass > 0
    pos, mass = pos[held], mass[held]
    if not len(mass):
        return centre
    for wide in (4.0, 2.0, 1.0):
        square = ((pos - centre) ** 2).sum(axis=1)
        order = np.argsort(square)
        sums = np.cumsum(mass[order])
        alike = sums**2 / np.cumsum(mass[order] ** 2)   # so many particles of one mass
        row = np.searchsorted(np.maximum.accumulate(alike), min(max(part * alike[-1], least), 0.5 * alike[-1]))
        size = wide**2 * max(square[order[min(row, len(order) - 1)]], 1e-300)
        for _ in range(500):
            weight = mass * (((pos - centre) ** 2).sum(axis=1) + size) ** -1.5
            last, centre = centre, weight @ pos / weight.sum()
            if ((centre - last) ** 2).sum() < 1e-8 * size:
                break
    return centre


def mean_velocity(vel, mass):
    """Velocity of the centre of mass; of particles without mass the mean."""
    return np.average(vel, axis=0, weights=mass) if mass.sum() > 0 else vel.mean(axis=0)


class Followed:
    """A set of particles that a frame follows: its origin is the densest place of the set, its velocity the mean of the
    nearest ones: 2 %,
    at least MEAN or, of a small set, half of it.

    ids: those of the set; or a function of arrays (pos, mass, ids, types) of the first time that gives a mask."""

    def __init__(self, ids):
        self.choose, self.ids = (ids, None) if callable(ids) else (None, np.unique(ids))

    def rows(self, pos, mass, ids, types):
        """Mask of the set. At the first call the set is chosen."""
        if self.ids is None:
            self.ids = np.unique(ids[self.choose(pos, mass, ids, types)])
        return np.isin(ids, self.ids)

    def frame(self, pos, vel, mass, ids, types):
        """Origin and velocity (None without velocities) of the frame; None: no particle of the set is there."""
        rows = np.flatnonzero(self.rows(pos, mass, ids, types))
        if not len(rows) or not mass[rows].sum() > 0:
            return None
        centre = densest_centre(pos[rows], mass[rows])
        if vel is None:
            return centre, None
        count = max(len(rows) // 50, min(MEAN, (len(rows) + 1) // 2))
        core = rows[np.argpartition(((pos[rows] - centre) ** 2).sum(axis=1), count - 1)[:count]]
        return centre, mean_velocity(vel[core], mass[core])


class Members(Followed):
    """Few particles, by their ids; the frame is that of their centre of mass, of those that are there."""

    def frame(self, pos, vel, mass, ids, types):
        rows = self.rows(pos, mass, ids, types)
        if not rows.any():
            return None
        centre = mean_velocity(pos[rows], mass[rows])
        return centre, None if vel is None else mean_velocity(vel[rows], mass[rows])


def of_type(kind):
    """For Followed: the particles of a type."""
    return lambda pos, mass, ids, types: types == kind


def near(point, part=0.02, least=100):
    """For Followed: the particles nearest to a point at the first time, a part of all, and at least some."""
    def chosen(pos, mass, ids, types):
        distance = ((pos - np.asarray(point)) ** 2).sum(axis=1)
        count = min(max(least, round(part * len(pos))), len(pos))
        return distance <= np.partition(distance, count - 1)[count - 1]
    return chosen


def lagrangian(radius, mass, fractions):
    """Lagrangian radii: those that hold these fractions of the mass."""
    order = np.argsort(radius)
    sums = np.cumsum(mass[order])
    return [radius[order][np.searchsorted(sums, f * sums[-1]).clip(0, len(sums) - 1)] for f in fractions]


def profile(radius, mass, count, least=25):
    """Density in shells of equal ratio; neighbouring shells are joined until they hold `least` particles. Returns radii
    and densities."""
    order = np.argsort(radius)
    radius, mass = radius[order], mass[order]
    inner = max(radius[min(least, len(radius) - 1)], 1e-300)
    bounds = np.append(0.0, np.geomspace(inner, max(radius[-1], inner) * (1 + 1e-9), count + 1))
    ends = np.searchsorted(radius, bounds)
    kept = [0]
    for i in range(1, len(ends)):
        if ends[i] - ends[kept[-1]] >= least:
            kept.append(i)
    bounds, ends = bounds[kept], ends[kept]
    middle = np.array([np.sqrt((radius[i:j] ** 2).mean()) for i, j in zip(ends[:-1], ends[1:])])
    inside = np.add.reduceat(mass[:ends[-1]], ends[:-1])
    good = (np.diff(bounds) > 0) & (middle > 0)
    return middle[good], inside[good] / (4 / 3 * np.pi * np.diff(bounds**3)[good])
