# SPDX-License-Identifier: GPL-3.0-or-later
"""Bound pairs of stars and hierarchies of them, in the particles of one time.

A system is two bodies that are each other's nearest and bound, where no third body disturbs them by more than `limit`:
the tide 2 (m3 / m) (Q / r)^3 of the nearest others, with the pair's mass m and apocentre Q = a (1 + e). A body is a
star, or a system that was found before, as its centre of mass."""
from __future__ import annotations

from typing import Any

import numpy as np

LIMIT = 0.1
THIRD = 6    # so many neighbours are looked at for the tide
ROUNDS = 20

# first, second: lowest ids of the stars of the two bodies; inner: rows of the systems that they are, or -1; stars: of
# both
ROW = np.dtype([("first", "i8"), ("second", "i8"), ("inner", "i4", 2), ("stars", "i4"), ("a", "f8"), ("e", "f8"),
                ("period", "f8"), ("mass", "f8", 2), ("tide", "f8"), ("energy", "f8"), ("pos", "f8", 3),
                ("vel", "f8", 3)])


def leaves(pos: np.ndarray, size: int = 48) -> list[np.ndarray]:
    """Index lists of a balanced tree: cells divided in halves along their longest side."""
    found, rest = [], [np.arange(len(pos))]
    while rest:
        cell = rest.pop()
        if len(cell) <= size:
            found.append(cell)
            continue
        axis = np.ptp(pos[cell], axis=0).argmax()
        order = np.argpartition(pos[cell, axis], len(cell) // 2)
        rest += [cell[order[:len(cell) // 2]], cell[order[len(cell) // 2:]]]
    return found


def nearest(pos: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices [N, count] of the nearest neighbours of each particle and their distances, the nearest first."""
    cells = leaves(pos)
    low, high = (np.array([pick(pos[cell], axis=0) for cell in cells]) for pick in (np.min, np.max))
    index, distance = np.empty((len(pos), count), dtype=np.int64), np.empty((len(pos), count))
    for number, cell in enumerate(cells):
        own = pos[cell]
        # each has so many in its own cell
        within = np.sort(((own[:, None] - own[None]) ** 2).sum(axis=2), axis=1)[:, count].max()
        gap = np.maximum(0, np.maximum(low - high[number], low[number] - high))
        near = np.concatenate([cells[k] for k in np.flatnonzero((gap**2).sum(axis=1) <= within)])
        square = ((own[:, None] - pos[near][None]) ** 2).sum(axis=2)
        square[cell[:, None] == near[None]] = np.inf
        first = np.argpartition(square, count - 1, axis=1)[:, :count]
        first = np.take_along_axis(first, np.take_along_axis(square, first, 1).argsort(axis=1), 1)
        index[cell], distance[cell] = near[first], np.sqrt(np.take_along_axis(square, first, 1))
    return index, distance


def elements(d: np.ndarray, u: np.ndarray, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Semi-major axes (below 0: not bound) and eccentricities of relative positions d[n, 3] and velocities."""
    r = np.linalg.norm(d, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        axis = 1 / (2 / r - (u**2).sum(axis=1) / mu)
        # from what does not cancel: e cos E and e sin E
        e = np.hypot(1 - r / axis, (d * u).sum(axis=1) / np.sqrt(mu * np.abs(axis)))
    return axis, e


def round_of(pos: np.ndarray, vel: np.ndarray, mass: np.ndarray, gravity: float, limit: float) -> tuple[Any, ...]:
    """Bodies i, j that are systems, with axis, eccentricity and tide."""
    index, _ = nearest(pos, min(THIRD, len(pos) - 1))
    own, other = np.arange(len(pos)), index[:, 0]
    i = own[(other[other] == own) & (own < other)]
    j = other[i]
    both = mass[i] + mass[j]
    axis, e = elements(pos[j] - pos[i], vel[j] - vel[i], gravity * both)
    centre = (mass[i, None] * pos[i] + mass[j, None] * pos[j]) / both[:, None]
    tide = np.zeros(len(i))
    for a, b in ((i, j), (j, i)):
        for k in range(1, index.shape[1]):
            third = index[a, k]
            r = np.linalg.norm(pos[third] - centre, axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                now = 2 * mass[third] / both * (axis * (1 + e) / r) ** 3
            tide = np.maximum(tide, np.where(third == b, 0, now))
    good = (axis > 0) & np.isfinite(axis) & (tide < limit)
    return i[good], j[good], axis[good], e[good], tide[good]


def systems(pos: np.ndarray, vel: np.ndarray, mass: np.ndarray, ids: np.ndarray, gravity: float,
            limit: float = LIMIT) -> np.ndarray:
    """The systems, of dtype ROW: inner ones before those that they are part of. They do not depend on the order of the
    stars."""
    ids = np.asarray(ids).astype(np.int64)
    order = np.argsort(ids, kind="stable")
    order = order[np.asarray(mass)[order] > 0]
    ids, pos, vel, mass = ids[order], *(np.asarray(x, dtype=np.float64)[order] for x in (pos, vel, mass))
    row, stars, found = np.full(len(mass), -1), np.ones(len(mass), dtype=np.int64), np.empty(0, dtype=ROW)
    for _ in range(ROUNDS):
        if len(mass) < 2:
            break
        i, j, axis, e, tide = round_of(pos, vel, mass, gravity, limit)
        if len(i) == 0:
            break
        swap = ids[j] < ids[i]
        i, j = np.where(swap, j, i), np.where(swap, i, j)
        both = mass[i] + mass[j]
        new = np.empty(len(i), dtype=ROW)
        new["first"], new["second"], new["stars"] = ids[i], ids[j], stars[i] + stars[j]
        new["inner"], new["mass"] = np.stack([row[i], row[j]], axis=1), np.stack([mass[i], mass[j]], axis=1)
        new["a"], new["e"], new["tide"] = axis, e, tide
        new["period"] = 2 * np.pi * np.sqrt(axis**3 / (gravity * both))
        new["energy"] = -gravity * mass[i] * mass[j] / (2 * axis)
        for name, x in (("pos", pos), ("vel", vel)):
            new[name] = (mass[i, None] * x[i] + mass[j, None] * x[j]) / both[:, None]
        keep = np.ones(len(mass), dtype=bool)
        keep[i] = keep[j] = False
        row = np.concatenate([row[keep], len(found) + np.arange(len(i))])
        found = np.concatenate([found, new])
        pos, vel = np.concatenate([pos[keep], new["pos"]]), np.concatenate([vel[keep], new["vel"]])
        mass, ids = np.concatenate([mass[keep], both]), np.concatenate([ids[keep], new["first"]])
        stars = np.concatenate([stars[keep], new["stars"]])
    return found


def pairs(found: np.ndarray) -> dict[tuple[int, int], np.void]:
    """Systems of two stars by their ids."""
    return {(int(row["first"]), int(row["second"])): row for row in found if row["stars"] == 2}


def events(before: np.ndarray, after: np.ndarray) -> list[tuple[str, tuple[int, int], tuple[int, int] | None]]:
    """What happened to pairs between two times: ("formed", pair, None), ("dissolved", pair, None) or ("exchanged", new
    pair, old pair), where a star has left a pair and another one is with its companion."""
    old, new = set(pairs(before)), set(pairs(after))
    gone, said = old - new, []
    for pair in sorted(new - old):
        former = sorted(other for other in gone if set(other) & set(pair))
        said.append(("exchanged", pair, former[0]) if former else ("formed", pair, None))
        gone -= set(former[:1])
    return said + [("dissolved", pair, None) for pair in sorted(gone)]
