# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables that a run writes, as arrays."""
from __future__ import annotations

import csv
import os
from typing import Any

import numpy as np

from ._library import FileError
from .quantities import units_of


class Table(dict):   # type: ignore[type-arg]
    """Columns of a table by their names: arrays of whole numbers, of numbers (nan: none), or of texts.

    comments    the lines that begin with #, without it
    parameters  units and gravitational constant that they state, as parameters; empty: none"""

    def __init__(self, columns: dict[str, np.ndarray], comments: list[str], parameters: dict[str, float]) -> None:
        super().__init__(columns)
        self.comments, self.parameters = comments, parameters

    def __repr__(self) -> str:
        rows = len(next(iter(self.values()))) if self else 0
        return f"<table of {rows} rows: {', '.join(self)}>"

    @property
    def units(self) -> dict[str, Any] | None:
        """Units of astropy by kind (Snapshot.units); None: the table states none."""
        return units_of(self.parameters)

    def quantity(self, name: str, unit: Any = None) -> Any:
        """A column as a quantity of astropy, in `unit` [that of the table; of velocities km/s]."""
        from espalier_plots.facts import powers_of

        units = self.units
        if units is None:
            raise ValueError("quantity: the table states no units")
        length, mass, speed = powers_of(name)
        own = units["length"]**length * units["mass"]**mass * units["speed"]**speed
        if (length, mass, speed) == (1, 0, -1):
            own = units["time"]
        value = self[name] * own
        if unit is None and (length, mass, speed) == (0, 0, 1):
            unit = "km/s"
        return value if unit is None else value.to(unit)

    def table(self) -> Any:
        """A QTable of astropy, with units where the table states them."""
        from astropy.table import QTable

        known = self.units is not None
        return QTable({name: self.quantity(name) if known and column.dtype.kind == "f" else column
                       for name, column in self.items()})


def _column(words: list[str]) -> np.ndarray:
    """Words as whole numbers, numbers, or texts."""
    for kind in (np.int64, np.float64):
        try:
            return np.array([word if word or kind is np.int64 else "nan" for word in words]).astype(kind)
        except (ValueError, OverflowError):
            pass
    return np.array(words)


def table(path: str | os.PathLike[str]) -> Table:
    """Read a table of a run, or one that espalier-plot --table has written: `table("out/cluster.csv")["mass"]`."""
    from espalier_plots.facts import stated

    try:
        with open(path, encoding="utf-8", newline="") as file:
            lines = file.readlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{os.fspath(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    comments = [line[1:].strip() for line in lines if line.startswith("#")]
    rows = [row for row in csv.reader(line for line in lines if not line.startswith("#")) if row]
    if not rows:
        raise FileError(f"{os.fspath(path)} has no line with names of columns")
    if len(rows) > 1 and len(rows[-1]) != len(rows[0]):
        del rows[-1]   # one that a run is writing
    if any(len(row) != len(rows[0]) for row in rows):
        raise FileError(f"{os.fspath(path)} is no table: its rows have different numbers of columns")
    columns = {name.strip(): _column([row[k].strip() for row in rows[1:]]) for k, name in enumerate(rows[0])}
    return Table(columns, comments, stated("\n".join(comments)))
