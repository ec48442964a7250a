# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations."""
from __future__ import annotations

import contextlib
import ctypes as c
import itertools
import math
import os
import sys
import signal
import threading
import time as clock
import warnings
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator

import numpy as np

from . import _library as _l
from .snapshot import Snapshot

Callback = Callable[["Simulation"], Any]


@dataclass(frozen=True)
class Sums:
    """Sums over all particles, in the frame of the caller."""

    time: float
    steps: int
    soft_step: float
    count: float
    mass: float
    kinetic: float
    potential: float
    total: float
    noise: float
    momentum: np.ndarray
    angular_momentum: np.ndarray
    centre: np.ndarray
    motion: np.ndarray
    split_radius: float
    interactions: float
    changes: float   # energy that change() has put in


def _plain(x: Any, unit: Any) -> Any:
    """Numbers of a quantity of astropy in `unit`."""
    if x is None or not hasattr(x, "unit"):
        return x
    if unit is None:
        raise _l.ArgumentError("quantities of astropy need units=(length, mass, velocity), for example (u.kpc, 1e10 * "
                               "u.Msun, u.km / u.s)")
    return x.to_value(unit)


class Simulation:
    """A system of particles that attract one another.

    pos, vel    arrays (n, 3); vel None: at rest. In place of pos a Snapshot, with all it has
    mass        array (n,), or one number for every particle
    ids, types  whole numbers (n,) [1, 2, ...; 1]
    softening   Plummer softening length [parameter Softening]
    G           gravitational constant [1, unless units are given]
    accuracy    wanted |dE/E| per dynamical time: "coarse", "standard", "fine", "finest" or a number
    parameters  text of a parameter file
    settings    any other parameter of doc/parameters.md by its name: Mode="tree", R1="0.2 pc", R1=0.2 * u.pc
    comm        communicator of mpi4py: each rank gives its share of the particles [MPI.COMM_WORLD]
    units       (length, mass, velocity) of astropy: arguments may be quantities, and results are
    force       open a system also where its judgement is that a run would be worthless

    The system is judged as by `espalier run`: warnings are SystemWarning, and a worthless run is a ParameterError.

    On one rank particles stay in the order in which they were given; on several ranks, where particles move between
    them, arrays are in the order of `ids`. A simulation is closed by close(), at the end of a `with` block, or when
    nothing refers to it.
    """

    _thread: int | None = None   # that integrates, also between soft steps

    def __init__(self, pos: Any = None, vel: Any = None, mass: Any = None, *, ids: Any = None, types: Any = None,
                 time: Any = None, softening: Any = None, G: Any = None, accuracy: Any = None, comm: Any = None,
                 parameters: str | None = None, units: Any = None, force: bool = False, **settings: Any) -> None:
        self._sim = c.c_void_p()

        def arguments() -> tuple[Any, ...]:
            self._units = self._names_of(units)
            given, named, when = {"pos": pos, "vel": vel, "mass": mass, "ids": ids, "types": types}, settings, time
            if isinstance(pos, Snapshot):
                given = {name: getattr(pos, name) if name == "pos" or x is None else x for name, x in given.items()}
                when = pos.time if time is None else time
                if units is None and G is None and not any(key.startswith(("Unit", "System")) for key in settings):
                    named = {**pos.parameters, **settings}
            if given["pos"] is None or given["mass"] is None:
                raise _l.ArgumentError("a simulation needs positions and masses: "
                                       "Simulation(pos=..., mass=...), or a Snapshot")
            particles, keep = self._particles(*given.values(), 0.0 if when is None else when)
            return *self._parameters(named, softening, G, accuracy, parameters), particles, keep

        handle = _l.handle_of(comm)
        text, lines, particles, keep = self._prepared(handle, arguments)
        _l.check(_l.lib.espalier_open(c.byref(self._sim), handle, text, lines, c.byref(particles)))
        self._opened(keep["ids"], force)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, softening: Any = None, G: Any = None, accuracy: Any = None,
                  comm: Any = None, parameters: str | None = None, units: Any = None, force: bool = False,
                  **settings: Any) -> Simulation:
        """A simulation of the particles of a file, at its time; a snapshot of save() among them. Units and G are those
        of the arguments; where there are none, those that the file states, else the default ones of a run."""
        self = cls.__new__(cls)
        self._sim = c.c_void_p()

        def arguments() -> tuple[Any, ...]:
            self._units = cls._names_of(units)
            return *self._parameters(settings, softening, G, accuracy, parameters, True), _l.encoded("path", path)

        handle = _l.handle_of(comm)
        text, lines, name = self._prepared(handle, arguments)
        _l.check(_l.lib.espalier_open_file(c.byref(self._sim), handle, text, lines, name))
        self._opened(None, force)
        return self

    # --- arguments
    # ------------------------------------------------------------------------------------------------------

    @staticmethod
    def _names_of(units: Any) -> dict[str, Any]:
        if units is None:
            return {}
        from astropy import units as u

        length, mass, speed = (u.Unit(one) for one in units)
        return {"length": length, "mass": mass, "speed": speed, "time": u.Unit(length / speed),
                "acceleration": speed**2 / length, "potential": speed**2, "energy": mass * speed**2,
                "momentum": mass * speed, "angular": mass * speed * length}

    def _prepared(self, handle: Any, arguments: Callable[[], Any]) -> Any:
        """Arguments of a call that all ranks make: where those of a rank are wrong, no rank makes it."""
        error, result = None, None
        try:
            result = arguments()
        except Exception as found:
            error = found
        _l.agree(self._sim, handle, error)
        return result

    def _opened(self, ids: np.ndarray | None, force: bool) -> None:
        """Judge the system, and note the order of its particles."""
        self._note_order(ids)
        text = c.create_string_buffer(16384)
        code = _l.lib.espalier_judge(self._sim, text, len(text))
        if code and not force:
            try:
                _l.check(code)
            except _l.EspalierError as error:
                self.close()
                raise type(error)(f"{error}; force=True opens it all the same") from None
        for line in text.value.decode(errors="replace").splitlines():
            warnings.warn(line, _l.SystemWarning, stacklevel=3)

    def _parameters(self, settings: dict[str, Any], softening: Any, G: Any, accuracy: Any,
                    parameters: str | None, file: bool = False) -> tuple[Any, Any]:
        """The text and the settings for the library."""
        lines = _l.texts(self._settings(settings, softening, G, accuracy, parameters, file))
        return _l.encoded("parameters", parameters) if parameters else None, lines

    def _settings(self, settings: dict[str, Any], softening: Any, G: Any, accuracy: Any,
                  parameters: str | None, file: bool) -> dict[str, Any]:
        out = dict(settings)
        if self._units:
            out.update(UnitLength_in_cm=self._units["length"].to("cm"), UnitMass_in_g=self._units["mass"].to("g"),
                       UnitVelocity_in_cm_per_s=self._units["speed"].to("cm/s"))
        if softening is not None:
            given = isinstance(softening, str) or (hasattr(softening, "unit") and not self._units)
            out["Softening"] = softening if given else _l.number("softening",
                                                                 _plain(softening, self._units.get("length")))
        if accuracy is not None:
            out["Accuracy"] = accuracy
        names = ("Unit", "System", "GravityConstantInternal")
        stated = file or self._units or parameters or any(name in key for key in out for name in names)
        if G is not None or not stated:
            value = 1.0 if G is None else _l.number("G", G)
            if not 0 < value < math.inf:
                raise _l.ArgumentError(
                    f"G: expected a number above 0, found {value}; without G it is that of the units, or 1"
                )
            out["GravityConstantInternal"] = value
        return out

    def _particles(self, pos: Any, vel: Any, mass: Any, ids: Any, types: Any,
                   time: Any) -> tuple[_l.Particles, dict[str, Any]]:
        get = self._units.get
        if mass is None:
            raise _l.ArgumentError("mass: expected masses, found None")
        x = _l.vectors("pos", _plain(pos, get("length")))
        n = len(x)
        keep = {"pos": x, "vel": None if vel is None else _l.vectors("vel", _plain(vel, get("speed")), n),
                "mass": _l.numbers("mass", _plain(mass, get("mass")), n),
                "ids": None if ids is None else _l.numbers("ids", ids, n, np.uint64),
                "types": None if types is None else _l.numbers("types", types, n, np.uint8)}
        struct = _l.Particles(n, *(_l.address(a) for a in keep.values()), _l.number("time", _plain(time, get("time"))))
        return struct, keep

    def _note_order(self, ids: np.ndarray | None) -> None:
        """Where particle i of the caller is among the ids in ascending order; None: at i."""
        self._place: np.ndarray | None = None
        # on several ranks one at least has not all particles
        self._several = bool(_l.agree(self._sim, None, None, int(len(self) != self.count)))
        if ids is None or self._several or not np.any(ids[1:] < ids[:-1]):
            return
        order = np.argsort(ids)
        self._place = np.empty(len(ids), np.int64)
        self._place[order] = np.arange(len(ids))

    def _open(self, shown: bool = False) -> c.c_void_p:
        """The handle of the library. `shown`: for a number that any thread may read."""
        if not self._sim:
            raise _l.ArgumentError("the simulation is closed")
        if not shown and self._thread not in (None, threading.get_ident()):
            raise _l.BusyError("another thread integrates this simulation: wait for its end")
        return self._sim

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """The simulation is for this thread; calls may be nested."""
        self._open()
        before, self._thread = self._thread, threading.get_ident()
        try:
            yield
        finally:
            self._thread = before

    def _quantity(self, x: Any, kind: str) -> Any:
        return x * self._units[kind] if self._units else x

    # --- open and close
    # --------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Free the simulation. On several ranks call it on all of them, in the same order."""
        if getattr(self, "_sim", None):
            self._open()
            code = _l.lib.espalier_close(self._sim)
            if code != 8:   # another thread is in a call: it stays open
                self._sim = c.c_void_p()
            if code != 7:   # after MPI_Finalize nothing is left to be closed
                _l.check(code)

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if not sys.is_finalizing():
            try:
                self.close()
            except _l.EspalierError:   # a thread or a rank is elsewhere: the memory is freed with the process
                pass

    def __len__(self) -> int:
        return max(0, _l.lib.espalier_count(self._open(shown=True)))

    def __repr__(self) -> str:
        if not self._sim:
            return "<espalier.Simulation, closed>"
        return f"<espalier.Simulation: {self.count} particles, t = {self.time}, {self.steps} soft steps>"

    # --- steps
    # -----------------------------------------------------------------------------------------------------------

    @property
    def time(self) -> Any:
        """The present time."""
        return self._quantity(_l.lib.espalier_time(self._open(shown=True)), "time")

    @property
    def steps(self) -> int:
        """Soft steps so far."""
        return _l.lib.espalier_steps(self._open(shown=True))

    @property
    def count(self) -> int:
        """Particles of all ranks."""
        return _l.lib.espalier_total(self._open(shown=True))

    def step(self, until: Any = math.inf) -> Any:
        """Make one soft step, shortened where it would pass `until`. Returns the time."""
        end = self._prepared(None, lambda: _l.number("until", _plain(until, self._units.get("time"))))
        _l.check(_l.lib.espalier_step(self._open(), end))
        return self.time

    def integrate(self, until: Any, callback: Callback | None = None) -> Simulation:
        """Make soft steps to exactly the time `until`.

        callback(sim) is called after each soft step; where it returns something true, or raises an exception, the
        integration ends there. It may change particles (sim.vel = ...). Ctrl-C ends the integration after the soft step
        under way."""
        self._open()
        end = self._prepared(None, lambda: self._end_of(until, callback))
        with self._held():
            # Soft steps are a loop here and not in the library, so that signals meet the interpreter outside of the
            # call of a
            # callback, at whose beginning an exception is lost.
            if not self._several:
                self._loop(end, lambda: callback(self) if callback is not None else None)
            else:
                self._loop_together(end, callback)
        return self

    def _loop(self, end: float, after: Callable[[], Any]) -> None:
        while self._sim and _l.lib.espalier_time(self._sim) < end:
            _l.check(_l.lib.espalier_advance(self._sim, end))
            if after():
                break

    def _loop_together(self, end: float, callback: Callback | None) -> None:
        """The loop on several ranks, which all end it after the same soft step."""
        with _Interrupt() as interrupt:

            def after() -> int:
                error, stop = None, False
                try:
                    stop = callback is not None and bool(callback(self))
                except BaseException as found:
                    error = found
                return not self._sim or _l.agree(self._sim, None, error, int(stop or interrupt.seen))

            self._loop(end, after)

    def _end_of(self, until: Any, callback: Callback | None) -> float:
        """The time `until`, not before the present one."""
        end, now = _l.number("until", _plain(until, self._units.get("time"))), _l.lib.espalier_time(self._open())
        if math.isnan(end) or (callback is None and math.isinf(end)):
            raise _l.ArgumentError(f"until: expected a finite time, or a callback that ends the run, found {end}")
        if end < now - 1e-9 * max(abs(now), abs(end)):
            raise _l.ArgumentError(f"until: expected a time from the present one on, {now}, found {end}")
        return end

    def _stops(self, until: Any, interval: Any, times: Iterable[Any] | None) -> tuple[float, float, Iterable[float]]:
        """The present time, the end, and the times of snapshots of run()."""
        unit, begin = self._units.get("time"), _l.lib.espalier_time(self._open())
        if times is not None:
            stops = [_l.number("times", _plain(t, unit)) for t in times]
            if not all(a <= b < math.inf for a, b in zip([begin - 1e-9 * abs(begin), *stops], stops)):
                raise _l.ArgumentError("times: expected finite times in ascending order from the present one on, "
                                       f"{begin}")
            return begin, stops[-1] if stops else begin, stops
        if until is None:
            raise _l.ArgumentError("run: expected the time until which to run, or times")
        end = self._end_of(until, None)
        length = _l.number("interval", _plain(interval, unit)) if interval is not None else math.inf
        if not length > 0:
            raise _l.ArgumentError(f"run: expected an interval above 0, found {length}")
        if begin + length == begin or end - length == end:
            raise _l.ArgumentError(f"run: expected an interval that can be told from 0 at the times {begin} to {end}, "
                                   f"found {length}")
        count = max(0, math.ceil((end - begin) / length * (1 - 1e-12)) - 1)
        return begin, end, itertools.chain((begin + (k + 1) * length for k in range(count)), [end])

    def run(self, until: Any = None, interval: Any = None, *, times: Iterable[Any] | None = None,
            callback: Callback | None = None, progress: bool | None = None) -> Iterator[Snapshot]:
        """Integrate, and give a Snapshot after each `interval` from the present time on and at `until`, or at `times`.

        progress: show a line that renews itself [where stderr is a terminal]."""
        unit = self._units.get("time")
        begin, end, stops = self._prepared(None, lambda: self._stops(until, interval, times))
        bar = _Progress(begin, end, sys.stderr.isatty() if progress is None else progress)

        def after(sim: Simulation) -> Any:
            bar.show(sim)
            return callback(sim) if callback is not None else None

        for stop in stops:
            self.integrate(stop if unit is None else stop * unit, after)
            yield self.snapshot()
            if _l.lib.espalier_time(self._open()) < stop:   # the callback ended the run
                break
        bar.end()

    # --- particles
    # -------------------------------------------------------------------------------------------------------

    def _get(self, which: int, width: int, dtype: Any = np.float64) -> np.ndarray:
        sim = self._open()
        n = _l.lib.espalier_count(sim)
        out = np.empty((n, width) if width > 1 else n, dtype)
        _l.check(_l.lib.espalier_get(sim, which, _l.address(out)))
        return out if self._place is None else out[self._place]

    def _set(self, which: int, array: np.ndarray) -> None:
        if self._place is not None:
            placed = np.empty_like(array)
            placed[self._place] = array
            array = placed
        _l.check(_l.lib.espalier_set(self._open(), which, _l.address(array)))

    @property
    def pos(self) -> Any:
        """Positions (n, 3), a copy; may be assigned to."""
        return self._quantity(self._get(_l.POSITION, 3), "length")

    @pos.setter
    def pos(self, x: Any) -> None:
        self._set(
            _l.POSITION,
            self._prepared(None, lambda: _l.vectors("pos", _plain(x, self._units.get("length")), len(self))),
        )

    @property
    def vel(self) -> Any:
        """Velocities (n, 3), a copy; may be assigned to."""
        return self._quantity(self._get(_l.VELOCITY, 3), "speed")

    @vel.setter
    def vel(self, v: Any) -> None:
        self._set(
            _l.VELOCITY, self._prepared(None, lambda: _l.vectors("vel", _plain(v, self._units.get("speed")), len(self)))
        )

    @property
    def mass(self) -> Any:
        """Masses (n,), a copy; may be assigned to."""
        return self._quantity(self._get(_l.MASS, 1), "mass")

    @mass.setter
    def mass(self, m: Any) -> None:
        self._set(
            _l.MASS, self._prepared(None, lambda: _l.numbers("mass", _plain(m, self._units.get("mass")), len(self)))
        )

    @property
    def ids(self) -> np.ndarray:
        """Ids (n,)."""
        return self._get(_l.ID, 1, np.uint64)

    @property
    def types(self) -> np.ndarray:
        """Types (n,), 0 to 5 as in GADGET; may be assigned to."""
        return self._get(_l.TYPE, 1, np.uint8)

    @types.setter
    def types(self, t: Any) -> None:
        self._set(_l.TYPE, self._prepared(None, lambda: _l.numbers("types", t, len(self), np.uint8)))

    @property
    def acc(self) -> Any:
        """Accelerations (n, 3) by the particles."""
        return self._quantity(self._get(_l.ACCELERATION, 3), "acceleration")

    @property
    def pot(self) -> Any:
        """Potentials (n,) per unit mass, without self energy."""
        return self._quantity(self._get(_l.POTENTIAL, 1), "potential")

    def view(self) -> dict[str, np.ndarray]:
        """Arrays of the library itself, without a copy where the particles are in host memory: pos, vel, mass, ids,
        types, acc, pot, and place and motion, which are added to pos and vel for the frame of the caller.

        They are read-only, in the library's order, which soft steps change, and must not be used after the next call
        that steps,
        changes or closes the simulation."""
        v = _l.View()
        _l.check(_l.lib.espalier_look(self._open(), c.byref(v)))
        n = v.count
        return {"pos": _l.viewed(v.position, (n, 3), np.float64), "vel": _l.viewed(v.velocity, (n, 3), np.float64),
                "mass": _l.viewed(v.mass, (n,), np.float32), "ids": _l.viewed(v.id, (n,), np.uint64),
                "types": _l.viewed(v.type, (n,), np.uint8), "acc": _l.viewed(v.acceleration, (n, 3), np.float32),
                "pot": _l.viewed(v.potential, (n,), np.float32), "place": np.array(v.place),
                "motion": np.array(v.motion)}

    def replace(self, pos: Any, vel: Any = None, mass: Any = None, *, ids: Any = None, types: Any = None,
                time: Any = None) -> None:
        """Replace all particles: others, more or fewer. Parameters stay."""
        self._open()
        particles, keep = self._prepared(
            None, lambda: self._particles(pos, vel, mass, ids, types, self.time if time is None else time)
        )
        _l.check(_l.lib.espalier_put(self._open(), c.byref(particles)))
        self._note_order(keep["ids"])

    def change(self, ids: Any, mass: Any = None, kick: Any = None) -> None:
        """Change the masses of stars, and add to their velocities, between soft steps (espalier_change).

        ids   of the particles, of any rank, each once over all ranks
        mass  (n,), the new masses, 0 or more [they stay]
        kick  (n, 3), added to velocities [none]

        sums.changes is the energy that this has put in."""
        self._open()

        def arguments() -> tuple[_l.Changes, Any]:
            number = np.size(ids)
            keep = [
                _l.numbers("ids", np.reshape(ids, number), number, np.uint64),
                None if mass is None else _l.numbers("mass", _plain(mass, self._units.get("mass")), number),
                None if kick is None else _l.vectors("kick", _plain(kick, self._units.get("speed")), number),
            ]
            return _l.Changes(number, *(_l.address(a) for a in keep)), keep

        changes, _keep = self._prepared(None, arguments)
        _l.check(_l.lib.espalier_change(self._open(), c.byref(changes)))

    def forces(self, points: Any = None, exact: bool = False) -> tuple[Any, Any]:
        """Accelerations (n, 3) and potentials (n,) of the particles at points (n, 3), or at the particles themselves.

        exact: by direct sums in double precision in place of the tree; for points only."""
        if points is None:
            return self.acc, self.pot
        self._open()
        x = self._prepared(None, lambda: _l.vectors("points", _plain(points, self._units.get("length"))))
        acc, pot = np.empty_like(x), np.empty(len(x))
        _l.check(_l.lib.espalier_field_at(self._open(), len(x), _l.address(x), int(bool(exact)), _l.address(acc),
                                          _l.address(pot)))
        return self._quantity(acc, "acceleration"), self._quantity(pot, "potential")

    # --- sums, files, pictures
    # --------------------------------------------------------------------------------------------

    @property
    def sums(self) -> Sums:
        """Energies, momenta and centres; where the last step had no potentials, forces are computed once more."""
        s = _l.SumsStruct()
        _l.check(_l.lib.espalier_measure(self._open(), c.byref(s)))
        kinds = {"time": "time", "soft_step": "time", "mass": "mass", "kinetic": "energy", "potential": "energy",
                 "total": "energy", "noise": "energy", "momentum": "momentum", "angular_momentum": "angular",
                 "centre": "length", "motion": "speed", "split_radius": "length", "changes": "energy"}
        values = {}
        for name, kind in _l.SumsStruct._fields_:
            value = getattr(s, name)
            value = np.array(value) if kind not in (c.c_double, c.c_int64) else value
            values[name] = self._quantity(value, kinds[name]) if name in kinds else value
        return Sums(**values)

    @property
    def energy(self) -> Any:
        """The total energy."""
        return self.sums.total

    def parameter(self, name: str) -> str:
        """The value in use of a parameter, as text."""
        text = c.create_string_buffer(1024)
        _l.check(_l.lib.espalier_parameter(self._open(), _l.encoded("name", name), text, len(text)))
        return text.value.decode()

    def snapshot(self) -> Snapshot:
        """A copy of the particles of this rank, as plain numbers."""
        from espalier_plots.facts import tidal

        omega, tide = tidal(self.parameter("TidalField"))
        names = ("GravityConstantInternal", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s")
        return Snapshot(self._get(_l.POSITION, 3), self._get(_l.VELOCITY, 3), self._get(_l.MASS, 1), self.ids,
                        self.types, _l.lib.espalier_time(self._open()),
                        parameters={name: float(self.parameter(name)) for name in names},
                        softenings=np.array([float(self.parameter(f"SofteningType{kind}")) or
                                             float(self.parameter("Softening")) for kind in range(6)]),
                        tide=tide, omega=omega)

    def binaries(self, limit: float = 0.1) -> np.ndarray:
        """Bound pairs and hierarchies of the particles of this rank, as plain numbers (Snapshot.binaries)."""
        return self.snapshot().binaries(limit)

    def cluster(self, **options: float) -> dict[str, Any]:
        """The star cluster that the particles of this rank are, in plain numbers; options as of Snapshot.cluster."""
        return self.snapshot().cluster(**options)

    def bound(self, **options: float) -> np.ndarray:
        """Which particles of this rank are bound, a boolean array (n,); options as of Snapshot.bound."""
        return self.snapshot().bound(**options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot in the layout of GADGET-4's HDF5 files; an existing file is replaced."""
        self._open()
        name = self._prepared(None, lambda: _l.encoded("path", path))
        _l.check(_l.lib.espalier_save(self._open(), name))

    def plot(self, *arguments: Any, **options: Any) -> Any:
        """Map of density or velocities (Snapshot.plot)."""
        return self.snapshot().plot(*arguments, **options)

    def plot_phase(self, *arguments: Any, **options: Any) -> Any:
        """Phase space (Snapshot.plot_phase)."""
        return self.snapshot().plot_phase(*arguments, **options)

    def plot_profile(self, *arguments: Any, **options: Any) -> Any:
        """Density profile (Snapshot.plot_profile)."""
        return self.snapshot().plot_profile(*arguments, **options)


class _Progress:
    """A line on stderr that renews itself a few times a second."""

    def __init__(self, begin: float, end: float, shown: bool) -> None:
        self.begin, self.length, self.shown = begin, end - begin, shown and end > begin
        self.started = clock.monotonic()
        self.last = 0.0

    def show(self, sim: Simulation) -> None:
        now = clock.monotonic()
        if not self.shown or now - self.last < 0.2:
            return
        self.last = now
        done = (_l.lib.espalier_time(sim._open()) - self.begin) / self.length
        left = (now - self.started) * (1 - done) / done if done > 0 else 0.0
        bar = "#" * round(20 * done)
        print(f"\r{bar:<20} {100 * done:5.1f} %, {sim.steps} soft steps, {left:.0f} s left ", end="", file=sys.stderr,
              flush=True)

    def end(self) -> None:
        if self.shown:
            print(f"\r{'#' * 20} 100.0 %, {clock.monotonic() - self.started:.1f} s{'':20}", file=sys.stderr, flush=True)


class _Interrupt:
    """Ctrl-C on several ranks: noted, until all ranks have agreed to end; a second one acts at once."""

    def __init__(self) -> None:
        self.seen = False
        self.before: Any = None

    def __enter__(self) -> _Interrupt:
        before = signal.getsignal(signal.SIGINT)
        if callable(before) and threading.current_thread() is threading.main_thread():
            self.before = before
            signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        if self.seen:
            self.before(number, frame)
        self.seen = True

    def __exit__(self, *_: Any) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
            if self.seen:
                self.before(signal.SIGINT, None)
