# SPDX-License-Identifier: GPL-3.0-or-later
"""Models for initial conditions, those of `espalier ic`. Units have G = 1 and a total mass of 1, but for galaxies.

Options are the long options of the command, with underscores: ``king(1000, w0=7, mass_function="kroupa")``.
"""
from __future__ import annotations

import ctypes as c
import os
from typing import Any

from . import _library as _l
from .snapshot import Snapshot, _taken


def model(name: str, n: int, seed: int = 1, comm: Any = None, **options: Any) -> Snapshot:
    """A model by its name. On several ranks each gets an equal share of the n particles."""
    data, handle, error, arguments = c.POINTER(_l.Data)(), _l.handle_of(comm), None, ()
    try:
        settings = _l.texts({key.replace("_", "-"): value for key, value in options.items()})
        if not (0 <= n < 2**63 and 0 <= seed < 2**64 and n == int(n) and seed == int(seed)):
            raise _l.ArgumentError(f"n and seed: expected whole numbers of 0 or more, found {n} and {seed}")
        arguments = (_l.encoded("name", name), int(n), int(seed), settings)
    except Exception as found:
        error = found
    _l.agree(None, handle, error)
    _l.check(_l.lib.espalier_model(c.byref(data), handle, *arguments))
    return _taken(data)


def plummer(n: int, seed: int = 1, comm: Any = None, **options: Any) -> Snapshot:
    """Plummer sphere: scale radius 3 pi / 16, energy -1/4."""
    return model("plummer", n, seed, comm, **options)


def hernquist(n: int, seed: int = 1, comm: Any = None, **options: Any) -> Snapshot:
    """Hernquist sphere, energy -1/4."""
    return model("hernquist", n, seed, comm, **options)


def king(n: int, w0: float = 6.0, seed: int = 1, comm: Any = None, **options: Any) -> Snapshot:
    """King's sphere, energy -1/4; `w0`: depth of the potential at the centre."""
    return model("king", n, seed, comm, w0=w0, **options)


def uniform(n: int, virial_ratio: float = 0.0, seed: int = 1, comm: Any = None, **options: Any) -> Snapshot:
    """Homogeneous sphere, energy -1/4; `virial_ratio`: 2 T / |W|."""
    return model("uniform", n, seed, comm, virial_ratio=virial_ratio, **options)


def merger(n: int, seed: int = 1, comm: Any = None, **options: Any) -> Snapshot:
    """Two Plummer spheres on an orbit, types 1 and 2."""
    return model("merger", n, seed, comm, **options)


def galaxy(file: str | os.PathLike[str], n: int = 0, seed: int = 1, comm: Any = None) -> Snapshot:
    """Galaxies in equilibrium from a model file; n > 0 replaces its number of particles."""
    return model("galaxy", n, seed, comm, file=os.fspath(file))
