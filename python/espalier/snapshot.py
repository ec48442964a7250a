# SPDX-License-Identifier: GPL-3.0-or-later
"""Particles at one time, and pictures of them."""
from __future__ import annotations

import ctypes as c
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _library as _l


@dataclass
class Snapshot:
    """Particles at one time: of a file, a model, or a simulation. A Simulation can be made of it."""

    pos: np.ndarray
    vel: np.ndarray
    mass: np.ndarray
    ids: np.ndarray
    types: np.ndarray
    time: float = 0.0
    potential: np.ndarray | None = None
    parameters: dict[str, float] = field(default_factory=dict)   #: units and G of the source, as parameters

    def __len__(self) -> int:
        return len(self.mass)

    def centre(self) -> np.ndarray:
        """Centre of mass."""
        return np.average(self.pos, axis=0, weights=self.mass)

    def radii(self, centre: Any = None) -> np.ndarray:
        """Distances from a point [the median position]."""
        return np.linalg.norm(self.pos - (np.median(self.pos, axis=0) if centre is None else centre), axis=1)

    def lagrangian_radii(self, fractions: Any = (0.1, 0.5, 0.9), centre: Any = None) -> np.ndarray:
        """Radii that hold these fractions of the mass."""
        r = self.radii(centre)
        order = np.argsort(r)
        held = np.cumsum(self.mass[order])
        return r[order][np.minimum(np.searchsorted(held, np.asarray(fractions) * held[-1]), len(r) - 1)]

    def plot(self, axes: str = "xy", width: float | None = None, pixels: int = 256, ax: Any = None, **options: Any) -> Any:
        """Map of the surface density in the plane `axes`, about the median position; `width`: half of its side [the radius of 90 % of
        the mass]. Other options are those of matplotlib's imshow. Returns the axes of matplotlib."""
        import matplotlib.pyplot as plt
        from matplotlib.colors import LogNorm

        if len(axes) != 2 or set(axes) - set("xyz") or axes[0] == axes[1]:
            raise _l.ArgumentError(f"axes: expected two of x, y and z, for example 'xy', found '{axes}'")
        i, j = "xyz".index(axes[0]), "xyz".index(axes[1])
        middle = np.median(self.pos, axis=0)
        half = float(width or self.lagrangian_radii([0.9])[0] or 1.0)
        box = [[middle[i] - half, middle[i] + half], [middle[j] - half, middle[j] + half]]
        density, _, _ = np.histogram2d(self.pos[:, i], self.pos[:, j], bins=pixels, range=box, weights=self.mass)
        density /= (2 * half / pixels) ** 2
        if ax is None:
            ax = plt.subplots()[1]
        above = density[density > 0]
        if above.size:
            options.setdefault("norm", LogNorm(above.min(), above.max()))
        options.setdefault("cmap", "magma")
        image = ax.imshow(density.T, origin="lower", extent=box[0] + box[1], interpolation="nearest", **options)
        ax.set(xlabel=axes[0], ylabel=axes[1], title=f"t = {self.time:.4g}, {len(self):,} particles")
        ax.figure.colorbar(image, ax=ax, label="surface density")
        return ax

    def plot_profile(self, bins: int = 30, centre: Any = None, ax: Any = None, **options: Any) -> Any:
        """Density profile about a point [the median position]. Returns the axes of matplotlib."""
        import matplotlib.pyplot as plt

        r = self.radii(centre)
        positive = r[r > 0]
        edges = np.geomspace(*np.quantile(positive, [min(0.5, 16 / len(positive)), 1]), bins + 1)
        held = np.histogram(r, edges, weights=self.mass)[0]
        density = held / (4 / 3 * np.pi * np.diff(edges**3))
        if ax is None:
            ax = plt.subplots()[1]
        some = density > 0
        ax.loglog(np.sqrt(edges[1:] * edges[:-1])[some], density[some], **options)
        ax.set(xlabel="radius", ylabel="density", title=f"t = {self.time:.4g}, {len(self):,} particles")
        return ax


def _taken(data: Any) -> Snapshot:
    """The particles of a struct espalier_data, which is freed."""
    d = data.contents
    n = d.count
    units = {"GravityConstantInternal": d.gravity} if d.gravity else {}
    if d.unit_length:
        units.update(UnitLength_in_cm=d.unit_length, UnitMass_in_g=d.unit_mass, UnitVelocity_in_cm_per_s=d.unit_velocity)
    snap = Snapshot(_l.copied(d.position, (n, 3), np.float64), _l.copied(d.velocity, (n, 3), np.float64),
                    _l.copied(d.mass, (n,), np.float64), _l.copied(d.id, (n,), np.uint64), _l.copied(d.type, (n,), np.uint8), d.time,
                    parameters=units)
    _l.lib.espalier_free(data)
    return snap


def read(path: str | os.PathLike[str], comm: Any = None) -> Snapshot:
    """Read a file of any format that Espalier reads (GADGET 1, 2, HDF5; Tipsy; text). On several ranks each gets an equal share."""
    data = c.POINTER(_l.Data)()
    _l.check(_l.lib.espalier_read(c.byref(data), _l.handle_of(comm), os.fsencode(path)))
    return _taken(data)
