# SPDX-License-Identifier: GPL-3.0-or-later
"""A star cluster at one time: bound stars, Jacobi radius, core and half-mass radius, relaxation time, binaries, mass
segregation. The definitions are those of cluster.csv (doc/analysis.md); potentials are always sums over all pairs."""
from __future__ import annotations

from typing import Any

import numpy as np

from .multiples import LIMIT, nearest, systems

NEIGHBOUR = 6     # the density is that within the distance of this one
HEAVIEST = 10     # one of so many stars is among the heaviest
COULOMB = 0.11    # of the Coulomb logarithm, ln(0.11 N) (Giersz & Heggie 1994)


def densities(mass: np.ndarray, index: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """The density about each star that its five nearest neighbours have within the distance of the sixth, from what
    nearest() returns."""
    radius = distance[:, NEIGHBOUR - 1]
    volume = np.where(radius > 0, 4 / 3 * np.pi * radius**3, np.inf)
    return mass[index[:, :NEIGHBOUR - 1]].sum(axis=1) / volume


def core(pos: np.ndarray, density: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Density centre and core radius (Casertano & Hut 1985); None where there is no density."""
    if not density.sum() > 0:
        return None
    centre = np.average(pos, axis=0, weights=density)
    return centre, float(np.average(np.linalg.norm(pos - centre, axis=1), weights=density))


def relaxation_time(count: int, mass: float, half: float, gravity: float) -> float:
    """Half-mass relaxation time (Spitzer 1987); nan where it is not defined."""
    if not COULOMB * count > 1:
        return np.nan
    return float(0.138 * count * half * np.sqrt(half / (gravity * mass)) / np.log(COULOMB * count))


def half_mass(radius: np.ndarray, mass: np.ndarray) -> float:
    """The smallest of these distances within which is half of the mass; nan where there are none."""
    if not len(radius):
        return np.nan
    order = np.argsort(radius, kind="stable")
    sums = np.cumsum(mass[order])
    return float(radius[order[np.searchsorted(sums, 0.5 * sums[-1])]])


def potentials(pos: np.ndarray, sources: np.ndarray, mass: np.ndarray, softening: float) -> np.ndarray:
    """Sums of m / sqrt(r^2 + softening^2) at places; sources at the place itself do not count."""
    found, rows = np.empty(len(pos)), max(1, 2**20 // max(len(sources), 1))
    for i in range(0, len(pos), rows):
        square = sum((pos[i:i + rows, None, c] - sources[None, :, c]) ** 2 for c in range(3))
        with np.errstate(divide="ignore"):
            found[i:i + rows] = np.where(square > 0, 1 / np.sqrt(square + softening**2), 0) @ mass
    return found


def bound(pos: np.ndarray, vel: np.ndarray, mass: np.ndarray, gravity: float, softening: float,
          motion: np.ndarray, radius: np.ndarray, tide: float) -> tuple[np.ndarray, np.ndarray]:
    """Mask of the bodies that are bound, and their mean velocity. All are so at first; again and again those leave
    whose energy is not below 0 in the potential of those that remain and relative to their mean velocity, the first
    time to `motion`; and those whose `radius` is beyond the Jacobi radius of those that remain."""
    held = np.ones(len(mass), dtype=bool)
    well = potentials(pos, pos, mass, softening)
    while held.any():
        leave = held & ~(0.5 * ((vel - motion) ** 2).sum(axis=1) < gravity * well)
        if tide > 0:
            edge = jacobi(radius[held], mass[held], gravity, tide)["jacobi_radius"]
            leave |= held & ~(radius <= edge)   # nan: none is within
        held &= ~leave
        before = motion
        if held.any():
            motion = np.average(vel[held], axis=0, weights=mass[held])
        if not leave.any() and (motion == before).all():
            break
        if leave.any():
            well[held] -= potentials(pos[held], pos[leave], mass[leave], softening)
    return held, motion


def owners(found: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The body of each star, by ascending ids: the row of the outermost system that it is in, or -1 - star."""
    owner, held = -1 - np.arange(len(ids)), []
    for number, row in enumerate(found):
        stars = np.concatenate([held[row["inner"][k]] if row["inner"][k] >= 0
                                else [np.searchsorted(ids, row[name])] for k, name in enumerate(("first", "second"))])
        owner[stars] = number
        held.append(stars)
    return owner


def systems_of(found: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Rows of the systems of which held says so, and of those that they have within them."""
    rows = np.zeros(len(found), dtype=bool)
    rows[held] = True
    for number in range(len(found) - 1, -1, -1):
        inner = found[number]["inner"]
        if rows[number]:
            rows[inner[inner >= 0]] = True
    return rows


def jacobi(radius: np.ndarray, mass: np.ndarray, gravity: float, tide: float) -> dict[str, Any]:
    """The largest radius that is the Jacobi radius of the mass within it."""
    order = np.argsort(radius, kind="stable")
    sums = np.cumsum(mass[order])
    within = np.flatnonzero(radius[order] ** 3 <= gravity * sums / tide) if tide > 0 else []
    if not len(within):
        return {"jacobi_radius": np.nan, "jacobi_mass": np.nan, "jacobi_stars": np.nan}
    held = sums[within[-1]]
    return {"jacobi_radius": float(np.cbrt(gravity * held / tide)), "jacobi_mass": float(held),
            "jacobi_stars": int(within[-1]) + 1}


def dispersion(radius: np.ndarray, vel: np.ndarray, mass: np.ndarray, half: float) -> float:
    """Of the velocities of bodies within the half-mass radius, about their mean, by mass, as the mean of the three
    axes; nan of fewer than two."""
    inner = radius <= half
    if inner.sum() < 2:
        return np.nan
    rest = vel[inner] - np.average(vel[inner], axis=0, weights=mass[inner])
    return float(np.sqrt(np.average((rest**2).sum(axis=1), weights=mass[inner]) / 3))


def by_ids(pos: np.ndarray, vel: np.ndarray, mass: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, ...]:
    """The stars that have mass, by ascending ids: their places in the arrays, and pos, vel, mass, ids."""
    ids = np.asarray(ids).astype(np.int64)
    order = np.argsort(ids, kind="stable")
    order = order[np.asarray(mass)[order] > 0]
    return order, *(np.asarray(x, dtype=np.float64)[order] for x in (pos, vel, mass)), ids[order]


class Members:
    """The bound stars of stars by ascending ids: `centre` and `core` of all, the mask `stars`; bodies, of which systems
    are one: `held`, and of these `at`, `vel`, `weight`; `motion`, their mean velocity; `found`, all systems, and
    `rows`, the mask of those that are bound or within bound ones."""

    def __init__(self, pos: np.ndarray, vel: np.ndarray, mass: np.ndarray, ids: np.ndarray, gravity: float,
                 softening: float, tide: float, omega: float, limit: float) -> None:
        if len(mass) <= NEIGHBOUR:
            raise ValueError(f"{len(mass)} stars with mass are too few for a cluster: more than {NEIGHBOUR} are needed")
        middle = core(pos, densities(mass, *nearest(pos, NEIGHBOUR)))
        if middle is None:
            raise ValueError("all stars are in one place")
        self.centre, self.core = centre, _ = middle
        self.found = found = systems(pos, vel, mass, ids, gravity, limit)
        names, of = np.unique(owners(found, ids), return_inverse=True)
        pairs, single = names[names >= 0], -1 - names[names < 0]
        at = np.concatenate([pos[single], found["pos"][pairs]])
        turned = np.concatenate([vel[single], found["vel"][pairs]]) + omega * np.stack(
            [centre[1] - at[:, 1], at[:, 0] - centre[0], np.zeros(len(at))], axis=1)
        # names ascend, so that single stars come first, the last one in front
        # it begins in the frame of the median of the nearest half: means would follow the fast stars of a close group
        radius = np.linalg.norm(at - centre, axis=1)
        near = np.argsort(radius, kind="stable")[:(len(at) + 1) // 2]
        weight = np.concatenate([mass[single], found["mass"][pairs].sum(axis=1)])
        self.held, self.motion = held, _ = bound(at, turned, weight, gravity, softening,
                                                 np.median(turned[near], axis=0), radius, tide)
        self.stars = held[of.ravel()]
        self.rows = systems_of(found, pairs[held[len(single):]])
        self.systems = int(held[len(single):].sum())
        self.at, self.vel, self.weight = at[held], turned[held], weight[held]


def members(pos: np.ndarray, vel: np.ndarray, mass: np.ndarray, ids: np.ndarray, gravity: float,
            softening: float = 0.0, tide: float = 0.0, omega: float = 0.0, limit: float = LIMIT) -> np.ndarray:
    """Mask of the bound stars in the order of the arrays."""
    order, *stars = by_ids(pos, vel, mass, ids)
    mask = np.zeros(len(mass), dtype=bool)
    mask[order] = Members(*stars, gravity, softening, tide, omega, limit).stars
    return mask


def cluster(pos: np.ndarray, vel: np.ndarray, mass: np.ndarray, ids: np.ndarray, gravity: float,
            softening: float = 0.0, tide: float = 0.0, omega: float = 0.0, limit: float = LIMIT) -> dict[str, Any]:
    """The numbers of a row of cluster.csv by their names; `centre` and `velocity` are arrays. Numbers that are not
    defined are nan."""
    _, pos, vel, mass, ids = by_ids(pos, vel, mass, ids)
    own = Members(pos, vel, mass, ids, gravity, softening, tide, omega, limit)
    stars, radius = own.stars, np.linalg.norm(pos - own.centre, axis=1)
    half = half_mass(radius[stars], mass[stars])
    heavy = np.sort(mass[stars])[::-1]
    least = heavy[-(-len(heavy) // HEAVIEST) - 1] if len(heavy) else 0.0
    some = stars & (mass >= least)
    row = {"stars": len(mass), "mass": float(mass.sum()), "centre": own.centre, "velocity": own.motion,
           "core_radius": own.core, "bound_stars": int(stars.sum()), "bound_mass": float(mass[stars].sum()),
           "half_mass_radius": half, "relaxation_time": relaxation_time(int(stars.sum()), mass[stars].sum(), half,
                                                                         gravity),
           "pairs": int((own.found["stars"][own.rows] == 2).sum()),
           "binary_fraction": own.systems / len(own.at) if len(own.at) else np.nan,
           "binary_energy": float(own.found["energy"][own.rows].sum()),
           "segregation": half_mass(radius[some], mass[some]) / half if some.sum() < stars.sum() else np.nan,
           "tide": tide if tide > 0 else np.nan, **jacobi(radius, mass, gravity, tide)}
    row["escapers"] = int(len(mass) - (row["bound_stars"] if np.isnan(row["jacobi_stars"]) else row["jacobi_stars"]))
    row["dispersion"] = dispersion(np.linalg.norm(own.at - own.centre, axis=1), own.vel, own.weight, half)
    return row
