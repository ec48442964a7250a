# SPDX-License-Identifier: GPL-3.0-or-later
"""For tests/cluster_table.sh. Written apart from the program and from python/: matrices of all pairs, plain formulas.
ic FILE X VY: a cluster with unbound stars at (X, 0, 0) with the velocity (0, VY, 0), as text.
row TABLE SNAPSHOT OMEGA TIDE SOFTENING: the row of its time against what is computed here.
python TABLE SNAPSHOT OMEGA TIDE SOFTENING: the row against Snapshot.cluster.
tide TABLE VALUE ERROR: the first tide of the table.
drawn TABLE FOLDER: what espalier-plot cluster draws of snapshots alone against the rows of their times."""
import sys
import types

import numpy as np

COUNT = 500
LIMIT = 0.1


def make(path, x, vy):
    """Plummer's sphere of mass 1 and scale 0.5 with a mass function, the heavy stars inside, and close pairs; three
    stars that are ten times as heavy near the centre, and 60 light ones of which most leave it."""
    r = np.random.default_rng(7)
    mass = 0.2 * r.random(COUNT) ** -0.7
    mass *= 0.95 / mass.sum()
    radius = 0.5 / np.sqrt(r.random(COUNT) ** (-2 / 3) - 1)
    radius = np.minimum(radius, 6) * np.where(mass > np.quantile(mass, 0.9), 0.4, 1)
    escape = np.sqrt(2) * (radius**2 + 0.25) ** -0.25

    def turned(size):
        d = r.normal(size=(len(size), 3))
        return d / np.linalg.norm(d, axis=1)[:, None] * size[:, None]

    pos, vel = turned(radius), turned(escape * np.sqrt(r.beta(1.5, 4.5, COUNT)))
    for k in range(0, 60, 2):   # companions, some of them wide
        a = 10 ** r.uniform(-4.5, -2)
        both = mass[k] + mass[k + 1]
        d, u = turned(np.array([a, np.sqrt(both / a)]))
        u -= d * (d @ u) / (d @ d)
        pos[k + 1], vel[k + 1] = pos[k] + d, vel[k] + u * np.sqrt(both / a) / np.linalg.norm(u)
    far, fast = turned(r.uniform(1, 9, 60)), turned(r.uniform(0, 3, 60))
    heavy = turned(np.full(3, 0.15)), turned(np.full(3, 0.5))
    pos, vel = np.concatenate([pos, far, heavy[0]]), np.concatenate([vel, fast, heavy[1]])
    mass = np.concatenate([mass, np.full(60, 5e-4), np.full(3, 0.05 / 3)])
    np.savetxt(path, np.column_stack([pos + [x, 0, 0], vel + [0, vy, 0], mass]), fmt="%.15g")


def read(path):
    import h5py
    with h5py.File(path) as file:
        parts = [file[name] for name in file if name.startswith("PartType")]
        pos, vel, mass, ids = (np.concatenate([part[name][()].astype(float) for part in parts])
                               for name in ("Coordinates", "Velocities", "Masses", "ParticleIDs"))
        return float(file["Header"].attrs["Time"]), pos, vel, mass, ids.astype(int)


def table_row(path, time):
    lines = [line.strip() for line in open(path) if not line.startswith("#")]
    names = lines[0].split(",")
    rows = [dict(zip(names, line.split(","))) for line in lines[1:]]
    assert all(len(row) == len(names) for row in rows)
    return min(rows, key=lambda row: abs(float(row["time"]) - time))


class Bodies:
    """Stars and pairs of bodies, until no two belong together."""

    def __init__(self, pos, vel, mass):
        self.body = [(p, v, m, [k]) for k, (p, v, m) in enumerate(zip(pos, vel, mass))]
        self.orbits = []   # energy, stars
        while self.join():
            pass

    def join(self):
        pos, vel, mass = (np.array([b[k] for b in self.body]) for k in range(3))
        apart = np.linalg.norm(pos[:, None] - pos[None], axis=2)
        np.fill_diagonal(apart, np.inf)
        near = apart.argmin(axis=1)
        new, gone = [], set()
        for i in range(len(mass)):
            j = near[i]
            if near[j] != i or j < i:
                continue
            both, reduced = mass[i] + mass[j], mass[i] * mass[j] / (mass[i] + mass[j])
            d, u = pos[j] - pos[i], vel[j] - vel[i]
            energy = reduced * (u @ u) / 2 - mass[i] * mass[j] / np.linalg.norm(d)
            if energy >= 0:
                continue
            axis = -mass[i] * mass[j] / (2 * energy)
            spin = np.cross(d, u)
            apocentre = axis * (1 + np.sqrt(max(0, 1 - spin @ spin / (both * axis))))
            centre, motion = ((mass[i] * x[i] + mass[j] * x[j]) / both for x in (pos, vel))
            others = np.unique(np.concatenate([np.argsort(apart[k])[:6] for k in (i, j)]))   # of both the six nearest
            others = others[(others != i) & (others != j)]
            tide = 2 / both * (mass[others] * (apocentre / np.linalg.norm(pos[others] - centre, axis=1)) ** 3).max()
            if tide >= LIMIT:
                continue
            stars = self.body[i][3] + self.body[j][3]
            new.append((centre, motion, both, stars))
            self.orbits.append((energy, stars))
            gone |= {i, j}
        self.body = [b for k, b in enumerate(self.body) if k not in gone] + new
        return bool(new)


def half_radius(r, mass):
    order = sorted(range(len(r)), key=lambda k: r[k])
    total = 0.0
    for k in order:
        total += mass[k]
        if total >= 0.5 * mass.sum() * (1 - 1e-12):
            return r[k]


def spread(place, vel, mass, held, half):
    """Of one axis, as the mean square of differences of pairs of bodies."""
    some = [k for k in held if np.sqrt((place[k] ** 2).sum()) <= half]
    share = mass[some] / mass[some].sum()
    apart = ((vel[some][:, None] - vel[some][None]) ** 2).sum(axis=2)
    return np.sqrt((share[:, None] * share[None] * apart).sum() / 6)


def compute(pos, vel, mass, omega, tide, softening):
    apart = np.linalg.norm(pos[:, None] - pos[None], axis=2)
    order = np.argsort(apart, axis=1)   # the first one is the star itself
    sixth = apart[np.arange(len(mass)), order[:, 6]]
    density = mass[order[:, 1:6]].sum(axis=1) / (4 / 3 * np.pi * sixth**3)
    weight = density / density.sum()
    centre = weight @ pos
    r = np.linalg.norm(pos - centre, axis=1)
    found = Bodies(pos, vel, mass)
    bpos, bvel, bmass = (np.array([b[k] for b in found.body]) for k in range(3))
    bvel = bvel + np.cross([0, 0, omega], bpos - centre)
    square = ((bpos[:, None] - bpos[None]) ** 2).sum(axis=2) + softening**2
    np.fill_diagonal(square, np.inf)
    held = np.arange(len(bmass))
    inner = np.argsort(np.linalg.norm(bpos - centre, axis=1))[:-(-len(bmass) // 2)]
    motion = np.array([np.median(bvel[inner, c]) for c in range(3)])
    edge = np.linalg.norm(bpos - centre, axis=1)

    def within(some):
        """Of bodies those within the radius at which their own mass has its Jacobi radius, from outside inwards."""
        inner = some
        while tide and (edge[inner] ** 3 > bmass[inner].sum() / tide).any():
            inner = inner[edge[inner] ** 3 <= bmass[inner].sum() / tide]
        return inner

    while True:
        well = (bmass[held] / np.sqrt(square[np.ix_(held, held)])).sum(axis=1)
        stay = np.intersect1d(held[((bvel[held] - motion) ** 2).sum(axis=1) / 2 < well], within(held))
        mean = bmass[stay] @ bvel[stay] / bmass[stay].sum()
        if len(stay) == len(held) and np.array_equal(mean, motion):
            break
        held, motion = stay, mean
    stars = np.array(sorted(k for b in held for k in found.body[b][3]))
    orbits = [o for o in found.orbits if set(o[1]) <= set(stars)]
    m, half, n = mass[stars].sum(), half_radius(r[stars], mass[stars]), len(stars)
    least = sorted(mass[stars], reverse=True)[int(np.ceil(n / 10)) - 1]
    some = stars[mass[stars] >= least]
    result = {"stars": len(mass), "mass": mass.sum(), "core_radius": weight @ r, "bound_stars": n, "bound_mass": m,
              "half_mass_radius": half, "relaxation_time": 0.138 * n / np.log(0.11 * n) * np.sqrt(half**3 / m),
              "pairs": sum(len(o[1]) == 2 for o in orbits), "binary_energy": sum(o[0] for o in orbits),
              "binary_fraction": sum(len(found.body[b][3]) > 1 for b in held) / len(held),
              "segregation": half_radius(r[some], mass[some]) / half,
              "dispersion": spread(bpos - centre, bvel, bmass, held, half)}
    result |= {f"centre_{name}": x for name, x in zip("xyz", centre)}
    result |= {f"velocity_{name}": x for name, x in zip("xyz", motion)}
    if tide:
        radius, before = (mass.sum() / tide) ** (1 / 3), 0
        while radius != before:
            before, radius = radius, (mass[r <= radius].sum() / tide) ** (1 / 3)
        result |= {"tide": tide, "jacobi_radius": radius, "jacobi_mass": mass[r <= radius].sum(),
                   "jacobi_stars": (r <= radius).sum(), "escapers": (r > radius).sum()}
    else:
        result |= {"tide": "", "jacobi_radius": "", "jacobi_mass": "", "jacobi_stars": "",
                   "escapers": len(mass) - n}
    return result


WHOLE = ("stars", "bound_stars", "pairs", "jacobi_stars", "escapers")


def compare(row, expected, error):
    """Whether the values agree; prints them side by side."""
    good = set(row) == set(expected) | {"time"}
    for name, value in expected.items():
        if value == "" or row.get(name, "") == "":
            same = value == row.get(name)
        elif name in WHOLE:
            same = int(row[name]) == value
        else:
            size = 1 if name.startswith(("centre", "velocity")) else abs(value)
            same = abs(float(row[name]) - value) <= error * size
        good &= bool(same)
        print(f"# {name:18s} {row.get(name, 'absent')!s:>20s} {value!s:>22s}{'' if same else '  DIFFERS'}")
    return good


def of_python(time, path, arguments):
    sys.path.insert(0, sys.argv[0].rsplit("/", 2)[0] + "/python")
    from espalier_plots.cluster import cluster
    _, pos, vel, mass, ids = read(path)
    omega, tide, softening = arguments
    found = cluster(pos, vel, mass, ids, 1.0, softening=softening, tide=tide, omega=omega)
    for name in ("centre", "velocity"):
        found |= {f"{name}_{axis}": x for axis, x in zip("xyz", found.pop(name))}
    return {name: "" if np.isnan(value) else value for name, value in found.items()}


def drawn(path, folder):
    sys.path.insert(0, sys.argv[0].rsplit("/", 2)[0] + "/tools")
    import plot_cluster
    given = {"snapshots": [folder], "types": None, "partial": False, "most": 400, "true_energies": "off"}
    bound = plot_cluster.read(types.SimpleNamespace(**given))[-1]
    good = len(bound.time) > 2
    for number, time in enumerate(bound.time):
        row = {name: float(value or "nan") for name, value in table_row(path, time).items()}
        for name in plot_cluster.Bound.COLUMNS:
            found = getattr(bound, name)[number]
            same = abs(found - row[name]) <= 1e-6 * abs(row[name]) or np.isnan(found) and np.isnan(row[name])
            good &= bool(same)
            print(f"# {name:18s} {row[name]:22.12g} {found:22.12g}{'' if same else '  DIFFERS'}")
    return int(not good)


def main():
    what, path, *rest = sys.argv[1:]
    if what == "ic":
        make(path, *map(float, rest))
        return 0
    if what == "drawn":
        return drawn(path, *rest)
    if what == "tide":
        found, expected, error = float(table_row(path, -1e300)["tide"]), *map(float, rest)
        print(f"# tide {found:.10g}, expected {expected:.10g}")
        return int(not abs(found - expected) <= error * expected)
    snapshot, arguments = rest[0], [float(x) for x in rest[1:]]
    time, pos, vel, mass, ids = read(snapshot)
    order = np.argsort(ids)
    if what == "row":
        expected = compute(pos[order], vel[order], mass[order], *arguments)
    else:
        expected = of_python(time, snapshot, arguments)
    return int(not compare(table_row(path, time), expected, 1e-6))


if __name__ == "__main__":
    sys.exit(main())
