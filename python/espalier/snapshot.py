# SPDX-License-Identifier: GPL-3.0-or-later
"""Particles at one time, and pictures of them."""
from __future__ import annotations

import ctypes as c
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _library as _l
from . import plots
from .quantities import FIELDS, GRAVITY_CGS, UNITS, Quantities, units_of

if TYPE_CHECKING:
    from espalier_plots.galaxy import Disc


@dataclass(repr=False)
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
    softenings: np.ndarray | None = None   #: Plummer softening of each of the six types; None: not stated
    tide: float = 0.0    #: 4 omega^2 - kappa^2 of the TidalField of the source; 0: none, or not stated
    omega: float = 0.0   #: angular velocity about z of its frame

    def __len__(self) -> int:
        return len(self.mass)

    def __repr__(self) -> str:
        kinds = ", ".join(str(kind) for kind in np.unique(self.types))
        return f"<Snapshot: {len(self)} particles of type {kinds or 'none'}, time {self.time:.6g}>"

    @property
    def units(self) -> dict[str, Any] | None:
        """Units of astropy by kind: length, mass, speed, time, potential. None: the source states none, or is
        dimensionless."""
        return units_of(self.parameters)

    def table(self) -> Any:
        """A QTable of astropy with the columns id, type, mass, pos, vel and, where it is known, potential, with units
        unless the source is dimensionless or states none; its `meta` has the time."""
        from astropy.table import QTable

        units = self.units
        take = (lambda name: getattr(self, name)) if units is None else self.quantity
        names = ["mass", "pos", "vel"] + ([] if self.potential is None else ["potential"])
        columns = {"id": self.ids, "type": self.types, **{name: take(name) for name in names}}
        return QTable(columns, meta={"time": take("time")})

    def quantity(self, name: str, unit: Any = None) -> Any:
        """`pos`, `vel`, `mass`, `time` or `potential` as a quantity of astropy, in `unit` [that of the source]."""
        if name not in FIELDS:
            raise ValueError(f"quantity: expected one of {', '.join(FIELDS)}, found {name!r}")
        units, value = self.units, getattr(self, name)
        if units is None or value is None:
            raise ValueError(f"quantity: the snapshot states no {'units' if units is None else name}")
        return (value * units[FIELDS[name]]).to(units[FIELDS[name]] if unit is None else unit)

    def in_units(self, **units: Any) -> Quantities:
        """The snapshot with quantities of astropy in place of arrays and numbers, in kpc, pc, Msun, km/s, Gyr, Myr, as
        fits, or in others: `snap.in_units(length="pc", time="Myr").pos`."""
        return Quantities(self, **units)

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
        """Bound pairs and hierarchies: rows with `first`, `second` (lowest ids of the two bodies), `inner` (n, 2)
        (rows of the systems that they are, or -1), `stars` (of both), `a`, `e`, `period`, `mass` (n, 2) (of both
        bodies), `tide`, `energy`, `pos` (n, 3), `vel` (n, 3).

        limit  largest tide of a third body, as a part of the binding
        """
        from espalier_plots.multiples import systems

        return systems(self.pos, self.vel, self.mass, self.ids, self._gravity("binaries"), limit)

    def cluster(self, *, softening: float | None = None, tide: float | None = None, omega: float | None = None,
                limit: float = 0.1) -> dict[str, Any]:
        """Bound stars, Jacobi radius, core and half-mass radius, relaxation time, binaries, mass segregation: the
        numbers of a row of cluster.csv by their names, and the arrays `centre` and `velocity`; nan: not defined. Sums
        over all pairs, so for some ten thousand stars at most. `dispersion` is that of one axis of systems as centres
        of mass within the half-mass radius. Stars beyond the Jacobi radius of the bound mass are not bound.

        softening  of the potential of the stars [the largest of their types that the file states, or 0]
        tide       of an external field, for the Jacobi radius: (G m / tide)^(1/3), so on a circular orbit
                   4 Omega^2 - kappa^2, about a point mass 3 Omega^2 [that of the TidalField that the source states; 0:
                   no field]
        omega      angular velocity of the frame about z [of this TidalField]
        limit      as of binaries()"""
        from espalier_plots.cluster import cluster

        return cluster(*self._stars("cluster", softening, tide, omega), limit)

    def bound(self, *, softening: float | None = None, tide: float | None = None, omega: float | None = None,
              limit: float = 0.1) -> np.ndarray:
        """Which particles are bound to the cluster: a boolean array (n,) in the order of `pos`, False for particles
        without mass; the bound stars that cluster() counts. Arguments and limits as of cluster()."""
        from espalier_plots.cluster import members

        return members(*self._stars("bound", softening, tide, omega), limit)

    def _stars(self, who: str, softening: float | None, tide: float | None, omega: float | None) -> tuple[Any, ...]:
        """Arguments of functions of espalier_plots.cluster, with what the source states in place of None."""
        if softening is None:
            stated = self.softenings
            softening = 0.0 if stated is None else max((stated[kind] for kind in np.unique(self.types)), default=0.0)
        return (self.pos, self.vel, self.mass, self.ids, self._gravity(who), softening,
                self.tide if tide is None else tide, self.omega if omega is None else omega)

    def _gravity(self, who: str) -> float:
        """The gravitational constant: stated, or by the units."""
        gravity = self.parameters.get("GravityConstantInternal", 0)
        units = [self.parameters.get(name, 0) for name in UNITS]
        if not gravity > 0 and min(units) > 0:
            gravity = GRAVITY_CGS * units[1] / units[0] / units[2]**2
        if not gravity > 0:
            raise ValueError(f"{who}: the snapshot states neither GravityConstantInternal nor units")
        return gravity

    def disc(self, type: int | None = None, *, softening: Any = None, centre: Any = None,
             axis: Any = None) -> Disc:
        """The galaxy in the frame of the disc of a type (espalier.Disc): positions and velocities `pos`, `vel` about
        its centre, z along its angular momentum.

        type       that of the disc [the one that rotates most]
        softening  of the forces that give v_c, one or one of each of six types [that of the file; where it
                   states none 2 % of the half-mass radius]
        centre     its centre [the bottom of the potential well of the stars, without type 1]
        axis       x is the projection of this direction into the disc [the x axis; y where z is within 45 degrees of x]

        Its methods, of the disc's type unless another one is named: `rings(type, edges)`, a dict of arrays R, v_phi,
        sigma_R, sigma_phi, sigma_z, surface_density, height (of sech^2), v_c, Omega, kappa, Q (Toomre's);
        `modes(type, outer=R)`, A_m / A_0 and phases of m = 1 to 6; `mode_rings(type, edges)`, radii and A_m / A_0;
        `speed(type, outer=R)`, the pattern speed of m = 2 from the velocities; `circular(radii)`."""
        from espalier_plots.galaxy import Disc, NoDisc

        try:
            return Disc(self.pos, self.vel, self.mass, self.types, type, self._gravity("disc"),
                        self.softenings if softening is None else softening, centre, axis=axis)
        except NoDisc as fault:
            raise _l.ArgumentError(f"disc: the snapshot {fault}") from None

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


def pattern_speed(snaps: Any, type: int | None = None, within: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Times halfway between successive snapshots, one fewer than snapshots, and the pattern speeds of a bar or
    two-armed spiral between them, both in the snapshots' units, from the phases of m = 2 within a radius; the
    velocities say how often it has turned. `snap.disc().speed()` is that at the time of a snapshot.

    type    that of the disc [the one that rotates most at first]
    within  radius [the half-mass radius in the plane at first]"""
    from espalier_plots import galaxy

    found: list[Any] = []
    axis = None
    for snap in snaps:
        disc = snap.disc(type, axis=axis)
        axis = disc.axes[0] if axis is None else axis
        type, within = disc.type, disc.holds(0.5) if within is None else within
        found.append((snap.time, disc.modes(outer=within)[1][1], disc.speed(outer=within)))
    times, phases, speeds = np.array(found).reshape(-1, 3).T
    try:
        return galaxy.pattern_speed(times, phases, speeds)
    except ValueError as fault:
        raise _l.ArgumentError(f"pattern_speed: {fault}") from None


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
    from espalier_plots.facts import tidal

    data = c.POINTER(_l.Data)()
    handle, name, error = _l.handle_of(comm), b"", None
    try:
        name = _l.encoded("path", path)
    except Exception as found:
        error = found
    _l.agree(None, handle, error)
    _l.check(_l.lib.espalier_read(c.byref(data), handle, name))
    snap = _taken(data)
    known = _attributes(path)
    snap.softenings = _softenings(known)
    snap.omega, snap.tide = tidal(known.get("TidalField", ""))
    if snap.potential is None:
        snap.potential = _potentials(path, snap.ids)
    return snap


def _potentials(path: str | os.PathLike[str], ids: np.ndarray) -> np.ndarray | None:
    """Those of the particles with these ids that a file of HDF5 has, by the Python module h5py; None: neither."""
    try:
        import h5py

        with h5py.File(os.fspath(path), "r") as file:
            groups = [file[name] for name in file if name.startswith("PartType")]
            if not groups or any("Potential" not in group for group in groups):
                return None
            known = np.concatenate([group["ParticleIDs"][:] for group in groups])
            values = np.concatenate([group["Potential"][:] for group in groups])
    except (ImportError, OSError):
        return None
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known[order], ids)
    if len(known) == 0 or (at >= len(known)).any() or (known[order][at] != ids).any():
        return None
    return values[order][at].astype(float)


def _attributes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Those of the header and the parameters of a file of HDF5, by the Python module h5py; empty: neither."""
    try:
        import h5py

        name = os.fspath(path)
        with h5py.File(name if os.path.isfile(name) else f"{name}.0.hdf5", "r") as file:
            return {key: value for group in ("Header", "Parameters") if group in file
                    for key, value in file[group].attrs.items()}
    except (ImportError, OSError):
        return {}


def _softenings(known: dict[str, Any]) -> np.ndarray | None:
    """Those that the attributes of a file state; None: it does not."""
    from espalier_plots.facts import softenings

    found = softenings(known)
    return None if found is None else np.array(found)
