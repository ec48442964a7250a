# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots for yt: with this module yt.load takes units and the box from the file.

yt 4.2 and later find it where pyespalier is installed; before them `import espalier_plots.yt_dataset` makes it known.
Its own reader of files of GADGET's kind takes kpc, 10^10 solar masses and km/s for every file, and needs a box."""
from __future__ import annotations

import glob
import os
from typing import Any

import h5py
import numpy as np
from yt.frontends.gadget.api import GadgetHDF5Dataset


def _files(name: str) -> list[str]:
    """All files of the snapshot that a file belongs to."""
    with h5py.File(name, "r") as file:
        if file["Header"].attrs["NumFilesPerSnapshot"] < 2:
            return [name]
    folder, base = os.path.split(os.path.abspath(name))
    return sorted(glob.glob(os.path.join(glob.escape(folder), glob.escape(base.split(".")[0]) + ".*.hdf5")))


def _half_width(name: str) -> float:
    """Of a cube around the origin that holds all particles."""
    most = 0.0
    for one in _files(name):
        with h5py.File(one, "r") as file:
            for key in file:
                if key.startswith("PartType") and len(file[key].get("Coordinates", ())):
                    most = max(most, float(np.abs(file[key]["Coordinates"][:]).max()))
    return 1.05 * most or 1.0


class EspalierDataset(GadgetHDF5Dataset):
    """A snapshot. Plots of a dimensionless one are in code_length, code_mass; others in kpc, solar masses and Myr.
    Arguments of yt.load (unit_base, bounding_box, unit_system) count as ever."""

    def __init__(self, filename: str, *args: Any, unit_base: Any = None, bounding_box: Any = None,
                 unit_system: str | None = None, **options: Any) -> None:
        with h5py.File(filename, "r") as file:
            units = dict(file["Units"].attrs)
        kind = units.pop("UnitSystem", b"physical")
        if bounding_box is None:
            half = _half_width(filename)
            bounding_box = [[-half, half]] * 3
        super().__init__(filename, *args, unit_base=unit_base or units, bounding_box=bounding_box,
                         unit_system=unit_system or ("code" if kind == b"dimensionless" else "galactic"), **options)

    @classmethod
    def _is_valid(cls, filename: str, *args: Any, **options: Any) -> bool:
        try:
            with h5py.File(filename, "r") as file:
                return file["Header"].attrs["Code"] == b"Espalier"
        except (OSError, KeyError):
            return False
