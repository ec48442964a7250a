# SPDX-License-Identifier: GPL-3.0-or-later
"""Gravitational N-body simulations with Espalier's hybrid tree.

>>> import espalier
>>> sim = espalier.Simulation(espalier.ic.plummer(1000), softening=0.01)
>>> sim.integrate(0.1)
>>> sim.time
0.1
"""
from espalier_plots.galaxy import Disc as Disc

from . import ic, plots
from ._library import (
    ArgumentError,
    BusyError,
    EspalierError,
    FileError,
    MPIError,
    ParameterError,
    ParticlesError,
    StepError,
    SystemWarning,
    UnsoundError,
)
from ._library import lib as _lib
from .simulation import Simulation, Sums
from .snapshot import Snapshot, pattern_speed, read
from .tables import Table, table

__version__ = _lib.espalier_version().decode().split()[0]
__all__ = [
    "ArgumentError",
    "BusyError",
    "EspalierError",
    "FileError",
    "MPIError",
    "ParameterError",
    "ParticlesError",
    "Simulation",
    "Snapshot",
    "StepError",
    "Sums",
    "SystemWarning",
    "Table",
    "UnsoundError",
    "ic",
    "pattern_speed",
    "plots",
    "read",
    "table",
]
