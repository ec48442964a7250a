# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of snapshots, by the package that draws those of espalier-plot. Needs matplotlib.

>>> figure = espalier.plots.maps(list(sim.run(1.0, 0.25)), quantities=("density", "velocity"))
>>> figure.savefig("maps.pdf")
"""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ._library import ArgumentError

Snapshot = Any   # that of snapshot.py, whose methods call these functions
PLANES, QUANTITIES, COORDINATES = ("xy", "xz", "yz"), ("density", "velocity", "dispersion"), ("r", "x", "y", "z")


def _one_of(name: str, text: Any, known: Sequence[str]) -> None:
    if text not in known:
        raise ArgumentError(f"{name}: expected {', '.join(known[:-1])} or {known[-1]}, found {text!r}")


def _number(name: str, value: Any, lowest: float, highest: float, expected: str) -> Any:
    """The value, which is to be a number above `lowest` and at most `highest`."""
    try:
        good = lowest < value <= highest
    except (TypeError, ValueError):
        good = False
    if not isinstance(good, (bool, np.bool_)) or not good:
        raise ArgumentError(f"{name}: expected {expected}, found {value!r}")
    return value


def _check_picture(width: Any, pixels: Any, decades: Any) -> None:
    """The limits of espalier-plot map."""
    if width is not None:
        _number("width", width, 0, float(np.finfo(float).max), "a number above 0, or None")
    if isinstance(pixels, bool) or not isinstance(pixels, (int, np.integer)):
        raise ArgumentError(f"pixels: expected a whole number from 16 to 4096, found {pixels!r}")
    _number("pixels", pixels, 15, 4096, "a whole number from 16 to 4096")
    _number("decades", decades, 0, 300, "a number above 0 and at most 300")


def _chosen(snap: Snapshot, types: Any) -> np.ndarray:
    rows = np.full(len(snap), True) if types is None else np.isin(snap.types, types)
    if not rows.any() or not snap.mass[rows].sum() > 0:
        raise ArgumentError("there are no particles with mass" + ("" if types is None else f" of type {types}"))
    return rows


def _axes(ax: Any) -> Any:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(5.6, 4.6), layout="constrained")[1] if ax is None else ax


def _shown(snap: Snapshot) -> tuple[Any, list[float]]:
    """Units of a picture, as espalier-plot chooses them (Units.drawn), and the factors of length, mass and velocity."""
    from espalier_plots.style import Units

    drawn = Units.drawn(snap.parameters)
    if drawn is None:
        return Units(snap.parameters), [1.0, 1.0, 1.0]
    names = "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"
    return Units(dict(zip(names, drawn))), [float(snap.parameters[name]) / size for name, size in zip(names, drawn)]


def _view(snap: Snapshot, origin: Any, motion: Any, rows: np.ndarray, last: float | None = None) -> Any:
    """Particles in the frame of a picture, whose last time [that of the snapshot] chooses the unit of time."""
    from espalier_plots.pictures import View

    units, (length, mass, speed) = _shown(snap)
    return View((snap.pos[rows] - origin) * length, (snap.vel[rows] - motion) * speed, snap.mass[rows] * mass,
                units.fit_times([(snap.time if last is None else last) * length / speed]).time_text(
                    snap.time * length / speed), units)


def _half(snap: Snapshot, width: float | None) -> float | None:
    """Half of a width in units of the snapshot, in those of its picture."""
    return None if width is None else width / 2 * _shown(snap)[1][0]


def _draw(snap: Snapshot, quantity: str, plane: str, width: float | None = None, centre: Any = None, types: Any = None,
          pixels: int = 256,
         decades: float = 4, ax: Any = None) -> Any:
    """One map or picture of phase space (Snapshot.plot, Snapshot.plot_phase). Returns the axes of matplotlib."""
    import matplotlib.pyplot as plt
    from espalier_plots import pictures, style
    from espalier_plots.measure import mean_velocity

    if quantity == "phase":
        _one_of("coordinate", plane, COORDINATES)
    else:
        _one_of("quantity", quantity, QUANTITIES)
        _one_of("plane", plane, PLANES)
    _check_picture(width, pixels, decades)
    rows = _chosen(snap, types)
    origin = snap.densest() if centre is None else np.asarray(centre, dtype=float)
    view = _view(snap, origin, mean_velocity(snap.vel, snap.mass), rows)
    with plt.rc_context(style.STYLE):
        ax = _axes(ax)
        image = pictures.draw_map(ax, view, quantity, plane, _half(snap, width), pixels=pixels, decades=decades)
    if image is None:
        raise ArgumentError("there is no mass inside the picture")
    return ax


def _profile(snap: Snapshot, bins: int = 40, centre: Any = None, types: Any = None, ax: Any = None, **line: Any) -> Any:
    """Density profile (Snapshot.plot_profile). Returns the axes of matplotlib."""
    import matplotlib.pyplot as plt
    from espalier_plots import pictures, style

    rows = _chosen(snap, types)
    units, (length, mass, speed) = _shown(snap)
    with plt.rc_context(style.STYLE):
        ax = _axes(ax)
        pictures.draw_profile(ax, snap.radii(centre)[rows] * length, snap.mass[rows] * mass, units, bins, **line)
        time = snap.time * length / speed
        ax.set_title(f"{units.fit_times([time]).time_text(time)}, {style.count_text(rows.sum())}", fontsize=10)
    return ax


def _frames(snaps: Sequence[Snapshot], follow: Any) -> list[Any]:
    """Origin and velocity of each snapshot's frame."""
    from espalier_plots.measure import Followed, mean_velocity

    if not len(snaps):
        raise ArgumentError("expected one or several snapshots")
    if follow is None:
        return [(snap.densest(), mean_velocity(snap.vel, snap.mass)) for snap in snaps]
    followed = Followed(follow if callable(follow) else np.asarray(follow))
    found = [followed.frame(snap.pos, snap.vel, snap.mass, snap.ids, snap.types) for snap in snaps]
    if any(frame is None for frame in found):
        raise ArgumentError("follow: a snapshot has no particles with mass of this set")
    return found


def maps(snaps: Sequence[Snapshot], plane: str = "xy", quantities: Sequence[str] = ("density",), *, follow: Any = None,
         width: float | None = None, types: Any = None, pixels: int = 256, decades: float = 4) -> Any:
    """Maps of snapshots side by side, on one scale, as espalier-plot map draws them. Returns the figure of matplotlib.

    follow  ids of particles, or a function of (pos, mass, ids, types) of the first snapshot that gives a mask: the
            frame follows the
            densest part of this set [all particles: the densest place, and the velocity of all]"""
    import matplotlib.pyplot as plt
    from espalier_plots import pictures, style

    panels = []
    _one_of("plane", plane, PLANES)
    for quantity in quantities:
        _one_of("quantities", quantity, QUANTITIES)
        panels.append(pictures.Panel(quantity, plane))
    _check_picture(width, pixels, decades)
    last = max(snap.time for snap in snaps) if len(snaps) else None
    views = [_view(snap, *frame, _chosen(snap, types), last) for snap, frame in zip(snaps, _frames(snaps, follow))]
    half = _half(snaps[0], width) or 1.05 * max(view.extent() for view in views) or 1.0
    with plt.rc_context(style.STYLE):
        figure = pictures.figure_of_maps(views, panels, half, pixels=pixels, decades=decades)
    if figure is None:
        raise ArgumentError("there is no mass inside the maps")
    return figure


def lagrangian(snaps: Sequence[Snapshot], fractions: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9), *,
               follow: Any = None, types: Any = None, ax: Any = None) -> Any:
    """Lagrangian radii against time, about the densest place, or that of the set `follow` (maps). Returns the axes of
    matplotlib."""
    import matplotlib.pyplot as plt
    from espalier_plots import pictures, style

    radii = []
    units, (length, _, speed) = _shown(snaps[0])
    for snap, (origin, _) in zip(snaps, _frames(snaps, follow)):
        rows = _chosen(snap, types)
        radii.append(np.array(pictures.radii_of(snap.pos[rows], snap.mass[rows], origin, fractions)) * length)
    with plt.rc_context(style.STYLE):
        ax = _axes(ax)
        pictures.draw_lagrangian(ax, [snap.time * length / speed for snap in snaps], radii, units, fractions)
    return ax
