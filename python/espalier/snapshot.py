# SPDX-License-Identifier: GPL-3.0-or-later
"""Particles at one time, and pictures of them."""
from __future__ import annotations

import ctypes as c
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _library as _l
from . import plots

GRAVITY_CGS = 6.67430e-8   # that of the library


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

    def densest(self) -> np.ndarray:
        """The densest place: centre of a sphere that shrinks until 200 particles are left."""
        from espalier_plots.measure import densest_centre

        return densest_centre(self.pos, self.mass)

    def radii(self, centre: Any = None) -> np.ndarray:
        """Distances from a point [the densest place]."""
        return np.linalg.norm(self.pos - (self.densest() if centre is None else np.asarray(centre)), axis=1)

    def lagrangian_radii(self, fractions: Any = (0.1, 0.5, 0.9), centre: Any = None) -> np.ndarray:
        """Lagrangian radii: those that hold these fractions of the mass, about a point [the densest place]."""
        from espalier_plots.measure import lagrangian

        return np.array(lagrangian(self.radii(centre), self.mass, fractions))

    def binaries(self, limit: float = 0.1) -> np.ndarray:
        """Bound pairs and hierarchies: rows with `first`, `second` (lowest ids of the two bodies), `inner` (rows of the
        systems that they are, or -1), `stars`, `a`, `e`, `period`, `mass`, `tide`, `energy`, `pos`, `vel`.

        limit  largest tide of a third body, as a part of the binding
        """
        from espalier_plots.multiples import systems

        return systems(self.pos, self.vel, self.mass, self.ids, self._gravity("binaries"), limit)

    def cluster(self, *, softening: float = 0.0, tide: float = 0.0, omega: float = 0.0,
                limit: float = 0.1) -> dict[str, Any]:
        """Bound stars, Jacobi radius, core and half-mass radius, relaxation time, binaries, mass segregation: the
        numbers of a row of cluster.csv by their names, and the arrays `centre` and `velocity`; nan: not defined. Sums
        over all pairs, so for some ten thousand stars at most.

        softening  of the potential of the stars
        tide       of an external field, for the Jacobi radius: (G m / tide)^(1/3), so on a circular orbit
                   4 Omega^2 - kappa^2 [0: no field]
        omega      angular velocity of the frame about z (TidalField)
        limit      as of binaries()"""
        from espalier_plots.cluster import cluster

        return cluster(self.pos, self.vel, self.mass, self.ids, self._gravity("cluster"), softening, tide, omega, limit)

    def _gravity(self, what: str) -> float:
        """The gravitational constant."""
        gravity = self.parameters.get("GravityConstantInternal", 0)
        names = "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"
        units = [self.parameters.get(name, 0) for name in names]
        if not gravity > 0 and min(units) > 0:
            gravity = GRAVITY_CGS * units[1] / units[0] / units[2]**2
        if not gravity > 0:
            raise ValueError(f"{what}: the snapshot states neither GravityConstantInternal nor units")
        return gravity

    def plot(self, plane: str = "xy", quantity: str = "density", *, width: float | None = None, centre: Any = None,
             types: Any = None, pixels: int = 256, decades: float = 4, ax: Any = None) -> Any:
        """Map in the plane "xy", "xz" or "yz". Returns the axes of matplotlib.

        quantity  "density"; "velocity", the mean along the line of sight, about that of all; "dispersion" of this
                  velocity
        width     side of the map [holds 99 % of the particles]
        centre    its middle [the densest place]
        types     particle types, one or several [all]
        decades   of density that are shown
        ax        axes of matplotlib to draw in [a new figure]"""
        return plots._draw(self, quantity, plane, width, centre, types, pixels, decades, ax)

    def plot_phase(self, coordinate: str = "r", *, width: float | None = None, centre: Any = None, types: Any = None,
                   pixels: int = 256, decades: float = 4, ax: Any = None) -> Any:
        """Phase space: "r", radius and radial velocity, or "x", "y", "z" and its velocity; arguments as of plot()."""
        return plots._draw(self, "phase", coordinate, width, centre, types, pixels, decades, ax)

    def plot_profile(self, bins: int = 40, centre: Any = None, types: Any = None, ax: Any = None, **style: Any) -> Any:
        """Density profile about a point [the densest place]; `style` is of matplotlib's lines. Returns the axes of
        matplotlib."""
        return plots._profile(self, bins, centre, types, ax, **style)


def _taken(data: Any) -> Snapshot:
    """The particles of a struct espalier_data, which is freed."""
    d = data.contents
    n = d.count
    units = {"GravityConstantInternal": d.gravity} if d.gravity else {}
    if d.unit_length:
        units.update(UnitLength_in_cm=d.unit_length, UnitMass_in_g=d.unit_mass,
                     UnitVelocity_in_cm_per_s=d.unit_velocity)
    snap = Snapshot(_l.copied(d.position, (n, 3), np.float64), _l.copied(d.velocity, (n, 3), np.float64),
                    _l.copied(d.mass, (n,), np.float64), _l.copied(d.id, (n,), np.uint64),
                    _l.copied(d.type, (n,), np.uint8), d.time, parameters=units)
    _l.lib.espalier_free(data)
    return snap


def read(path: str | os.PathLike[str], comm: Any = None) -> Snapshot:
    """Read a file of any format that Espalier reads (GADGET 1, 2, HDF5; Tipsy; text). On several ranks each gets an
    equal share."""
    data = c.POINTER(_l.Data)()
    handle, name, error = _l.handle_of(comm), b"", None
    try:
        name = _l.encoded("path", path)
    except Exception as found:
        error = found
    _l.agree(None, handle, error)
    _l.check(_l.lib.espalier_read(c.byref(data), handle, name))
    return _taken(data)
