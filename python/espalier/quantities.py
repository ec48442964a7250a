# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot whose values have units of astropy."""
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .snapshot import Snapshot

FIELDS = {"pos": "length", "vel": "speed", "mass": "mass", "time": "time", "potential": "potential"}
# Values that methods give, by their names; others are numbers.
VALUES = {
    "cluster": {
        "length": "centre core_radius half_mass_radius jacobi_radius", "speed": "velocity dispersion",
        "mass": "mass bound_mass jacobi_mass", "time": "relaxation_time", "energy": "binary_energy",
        "tide": "tide"},
    "binaries": {"length": "a pos", "speed": "vel", "mass": "mass", "time": "period", "energy": "energy"},
    "rings": {
        "length": "R z_rms height", "speed": "v_phi v_R sigma_R sigma_phi sigma_z v_c", "frequency": "Omega kappa",
        "surface": "surface_density"},
}
GIVEN = {"softening": "length", "centre": "length", "tide": "tide", "omega": "frequency"}


GRAVITY_CGS = 6.67430e-8   # that of the library
UNITS = "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"


def _named(size: Any, names: str, base: str) -> Any:
    """One of these units where it is this size, else a multiple of the base."""
    from astropy import units as u

    known = [u.Unit(name) for name in names.split()]
    same = next((unit for unit in known if abs(size.to_value(unit) - 1) < 2e-6), None)
    return same or u.Unit(float(f"{size.to_value(base):.12g}") * u.Unit(base))


def units_of(parameters: Mapping[str, float]) -> dict[str, Any] | None:
    """Units of astropy by kind: length, mass, speed, time, potential. None: the parameters state none, or a
    gravitational constant that is not theirs."""
    cgs = [parameters.get(name, 0) for name in UNITS]
    if not min(cgs) > 0:
        return None
    gravity = parameters.get("GravityConstantInternal", 0)
    if gravity > 0 and abs(gravity / (GRAVITY_CGS * cgs[1] / cgs[0] / cgs[2]**2) - 1) > 0.01:
        return None
    from astropy import units as u

    length, mass, speed = cgs[0] * u.cm, cgs[1] * u.g, cgs[2] * u.cm / u.s
    found = {"length": _named(length, "km AU pc kpc Mpc", "kpc" if length > 100 * u.pc else "pc" if length > 1 * u.AU
                              else "km"),
             "mass": _named(mass, "g kg Msun", "Msun" if mass > 1e-3 * u.Msun else "kg"),
             "speed": _named(speed, "km/s pc/Myr kpc/Gyr m/s", "km/s"),
             "time": _named(length / speed, "Gyr Myr yr day s", "Gyr" if length / speed > 0.1 * u.Gyr else
                            "Myr" if length / speed > 100 * u.yr else "s")}
    return {**found, "potential": found["speed"]**2}


def _usual(size: Any, names: str) -> Any:
    """The first of these units, from the largest, that is at most ten times the size."""
    from astropy import units as u

    known = [u.Unit(name) for name in names.split()]
    return next((unit for unit in known if size.to_value(unit) >= 0.1), known[-1])


class Quantities:
    """A snapshot in units of astropy: `pos`, `vel`, `mass`, `time`, `potential` are quantities, and so is what
    `centre()`, `densest()`, `radii()`, `lagrangian_radii()`, `binaries()` (a QTable), `cluster()`, `rings()` and
    `table()` give; their arguments may have units. `ids`, `types` and `len()` are those of the snapshot, which `snap`
    is."""

    def __init__(self, snap: Snapshot, **units: Any) -> None:
        """units: of length, mass, speed, time [kpc, pc or AU, Msun, km/s, Gyr, Myr or yr, as fits the units of the
        source]"""
        from astropy import units as u

        own = units_of(snap.parameters)
        if own is None:
            raise ValueError("in_units: the snapshot states no units, or a gravitational constant that is not theirs")
        unknown = sorted(set(units) - {"length", "mass", "speed", "time"})
        if unknown:
            raise ValueError(f"in_units: expected length, mass, speed or time, found {unknown[0]!r}")
        usual = {"length": _usual(1 * own["length"], "Mpc kpc pc AU km"), "mass": u.Msun, "speed": u.km / u.s,
                 "time": _usual(1 * own["time"], "Gyr Myr yr day s")}
        self.snap, self._own = snap, dict(own)
        self._own.update(energy=own["mass"] * own["speed"]**2, frequency=own["time"]**-1, tide=own["time"]**-2,
                         surface=own["mass"] / own["length"]**2)
        self._to = {}
        for kind, usual_one in usual.items():
            given = units.get(kind)
            self._to[kind] = usual_one if given is None else u.Unit(given)
            if not self._to[kind].is_equivalent(own[kind]):
                raise ValueError(f"in_units: {kind}: expected a unit as {usual_one}, found {given}")
        length, mass, speed = (self._to[kind] for kind in ("length", "mass", "speed"))
        self._to.update(potential=speed**2, energy=mass * speed**2, frequency=speed / length, tide=(speed / length)**2,
                        surface=mass / length**2)
        if self._to["length"] == u.kpc and "length" not in units:
            self._to["surface"] = mass / u.pc**2

    def __len__(self) -> int:
        return len(self.snap)

    def __repr__(self) -> str:
        kinds = ", ".join(str(self._to[kind]) for kind in ("length", "mass", "speed", "time"))
        return f"<{len(self)} particles at {self.time:.6g}, in {kinds}>"

    def __getattr__(self, name: str) -> Any:
        if name in FIELDS:
            value = getattr(self.snap, name)
            return None if value is None else self._quantity(value, FIELDS[name])
        if name in ("ids", "types", "parameters"):
            return getattr(self.snap, name)
        raise AttributeError(f"a snapshot in units has no {name!r}; its arrays without units are in .snap")

    def table(self) -> Any:
        """A QTable of astropy with the columns id, type, mass, pos, vel and, where it is known, potential; its `meta`
        has the time."""
        from astropy.table import QTable

        names = ["mass", "pos", "vel"] + ([] if self.snap.potential is None else ["potential"])
        columns = {"id": self.ids, "type": self.types, **{name: getattr(self, name) for name in names}}
        return QTable(columns, meta={"time": self.time})

    def _quantity(self, value: Any, kind: str) -> Any:
        return (value * self._own[kind]).to(self._to[kind])

    def _plain(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments that have units, as numbers in those of the snapshot; the others as they are."""
        return {name: value.to_value(self._own[GIVEN[name]]) if name in GIVEN and hasattr(value, "to_value") else value
                for name, value in options.items()}

    def _values(self, what: str, found: Any, names: Any) -> dict[str, Any]:
        kinds = {name: kind for kind, text in VALUES[what].items() for name in text.split()}
        return {name: self._quantity(found[name], kinds[name]) if name in kinds else found[name] for name in names}

    def centre(self) -> Any:
        """Centre of mass."""
        return self._quantity(self.snap.centre(), "length")

    def densest(self) -> Any:
        """The densest place (Snapshot.densest)."""
        return self._quantity(self.snap.densest(), "length")

    def radii(self, centre: Any = None) -> Any:
        """Distances from a point [the densest place]."""
        return self._quantity(self.snap.radii(**self._plain({"centre": centre})), "length")

    def lagrangian_radii(self, fractions: Any = (0.1, 0.5, 0.9), centre: Any = None) -> Any:
        """Lagrangian radii about a point [the densest place]."""
        return self._quantity(self.snap.lagrangian_radii(fractions, **self._plain({"centre": centre})), "length")

    def binaries(self, limit: float = 0.1) -> Any:
        """Bound pairs and hierarchies (Snapshot.binaries), a QTable."""
        from astropy.table import QTable

        found = self.snap.binaries(limit)
        return QTable(self._values("binaries", found, found.dtype.names))

    def cluster(self, **options: Any) -> dict[str, Any]:
        """The numbers of a cluster (Snapshot.cluster)."""
        found = self.snap.cluster(**self._plain(options))
        return self._values("cluster", found, found)

    def bound(self, **options: Any) -> np.ndarray:
        """Which particles are bound (Snapshot.bound), a boolean array."""
        return self.snap.bound(**self._plain(options))

    def rings(self, type: int | None = None, edges: Any = None, **options: Any) -> dict[str, Any]:
        """The rings of a disc (Snapshot.disc): R, v_c, v_phi, sigma_R, Q and others. `edges` are radii; other
        arguments are those of disc()."""
        disc = self.snap.disc(type, **self._plain(options))
        if edges is not None:
            edges = np.asarray(edges.to_value(self._own["length"]) if hasattr(edges, "to_value") else edges)
        found = disc.rings(type, edges)
        return self._values("rings", found, found)
