# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plot scripts share: a Python with the modules, tables and snapshots, units, style, messages."""
import os
import re
import shutil
import subprocess
import sys

try:
    import h5py
    import matplotlib
    import numpy as np
except ImportError as missing:
    # Started with a python3 that lacks a module: go on with one that has them all.
    test = "import importlib.util as u, sys; sys.exit(not all(u.find_spec(m) for m in ('h5py', 'numpy', 'matplotlib')))"
    if "ESPALIER_PLOT_PYTHON" not in os.environ:
        for candidate in (os.environ.get("PYTHON"), "python3", "/usr/bin/python3", "/usr/local/bin/python3"):
            path = candidate and shutil.which(candidate)
            if path and subprocess.run([path, "-c", test], stderr=subprocess.DEVNULL).returncode == 0:
                os.environ["ESPALIER_PLOT_PYTHON"] = path
                os.execv(path, [path] + sys.argv)
    sys.exit(f"{os.path.basename(sys.argv[0])}: {missing}, and no other python3 has h5py, numpy and matplotlib "
             "(Debian: python3-h5py python3-numpy python3-matplotlib)")

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# Okabe and Ito's colours, told apart by colour-blind people too.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"]
TYPES = ["gas", "halo", "disk", "bulge", "stars", "boundary"]
plt.rcParams.update({
    "axes.prop_cycle": matplotlib.cycler(color=COLOURS), "axes.grid": True, "grid.alpha": 0.25, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "font.size": 10, "axes.titlesize": 11, "axes.titlelocation": "left",
    "legend.frameon": False, "legend.fontsize": 9, "figure.dpi": 120, "savefig.dpi": 150, "lines.linewidth": 1.4})


def fail(message):
    """A sentence on the terminal, and exit status 1."""
    sys.exit(f"{os.path.basename(sys.argv[0])}: {message}")


def save(figure, path):
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        fail(f"{path} cannot be written: {error}")
    print(path)


class Units:
    """Names of the internal units; nothing is named where the gravitational constant shows that they are a model's own."""
    G_CGS = 6.67430e-8
    LENGTHS = {"Mpc": 3.0857e24, "kpc": 3.0857e21, "pc": 3.0857e18, "au": 1.49598e13, "km": 1e5, "m": 1e2, "cm": 1.0}
    MASSES = {r"$10^{10}\,$M$_\odot$": 1.98841e43, r"M$_\odot$": 1.98841e33, "kg": 1e3, "g": 1.0}
    TIMES = {"Gyr": 3.15576e16, "Myr": 3.15576e13, "yr": 3.15576e7, "s": 1.0}

    def __init__(self, facts):
        def number(name):
            try:
                return float(np.ravel(facts[name])[0])
            except (KeyError, TypeError, ValueError, IndexError):
                return 0.0
        length, mass = number("UnitLength_in_cm"), number("UnitMass_in_g")
        velocity, gravity = number("UnitVelocity_in_cm_per_s"), number("GravityConstantInternal")
        self.length = self.mass = self.time = ""
        if not (length > 0 and mass > 0 and velocity > 0):
            return
        if gravity > 0 and abs(gravity * length * velocity**2 / mass / self.G_CGS - 1) > 0.01:
            return
        self.length = self.name(length, self.LENGTHS, "cm")
        self.mass = self.name(mass, self.MASSES, "g")
        seconds = length / velocity
        unit = next((n for n, s in self.TIMES.items() if seconds >= 0.1 * s), "s")
        self.time = f"{seconds / self.TIMES[unit]:.4g} {unit}"

    @staticmethod
    def name(value, names, base):
        for text, size in names.items():
            if abs(value / size - 1) < 2e-3:
                return text
        return f"{value:.4g} {base}"

    @staticmethod
    def label(quantity, unit):
        return f"{quantity} [{unit}]" if unit else quantity


class Table:
    """A CSV file with '#' lines, a header line and rows of numbers, but for columns of words. Columns are found by name."""

    def __init__(self, path, needed=(), words=()):
        self.path = path
        comments, rows, names, cut = [], [], None, 0
        self.words, worded = {name: [] for name in words}, {}
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                for number, line in enumerate(file, 1):
                    if line.startswith("#"):
                        comments.append(line[1:].strip())
                    elif names is None and line.strip():
                        names = [name.strip() for name in line.split(",")]
                        worded = {names.index(name): name for name in words if name in names}
                    elif line.strip():
                        found = [word.strip() for word in line.split(",")]
                        try:
                            row = [float("nan" if i in worded else word) for i, word in enumerate(found)]
                        except ValueError:
                            row = []
                        if len(row) == len(names):
                            rows.append(row)
                            for i, name in worded.items():
                                self.words[name].append(found[i])
                        else:
                            cut = number
        except OSError as error:
            fail(f"{path} cannot be read: {error.strerror}")
        if names is None:
            fail(f"{path} is empty: it should begin with a header line of column names")
        if cut:
            print(f"{os.path.basename(sys.argv[0])}: {path}:{cut}: not a row of {len(names)} numbers, left out", file=sys.stderr)
        missing = [name for name in needed if name not in names]
        if missing:
            fail(f"{path} has no column '{missing[0]}' (its columns: {', '.join(names)})")
        if not rows:
            fail(f"{path} has no rows yet")
        self.names, self.data = names, np.array(rows)
        self.words = {name: np.array(column) for name, column in self.words.items()}
        self.comments = text = "\n".join(comments)
        keys = ("UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", "GravityConstantInternal")
        found = {key: re.search(key + r"\s*[=:]?\s*([-+0-9.eE]+)", text) for key in keys}
        self.units = Units({key: match.group(1) for key, match in found.items() if match})

    def __contains__(self, name):
        return name in self.names

    def __getitem__(self, name):
        return self.data[:, self.names.index(name)]

    def vector(self, stem):
        return np.stack([self[f"{stem}_{axis}"] for axis in "xyz"], axis=1)


def table_path(path, name):
    """A folder stands for the table of that name in it."""
    return os.path.join(path, name) if os.path.isdir(path) else path


class Snapshot:
    """A GADGET-4 (HDF5) snapshot: time, units, and per type the positions and masses."""

    def __init__(self, path, types=None, velocities=False):
        self.path = path
        if not os.path.exists(path):
            fail(f"{path} is not there")
        try:
            with h5py.File(path, "r") as file:
                self.read(file, types, velocities)
        except OSError as error:
            fail(f"{path} cannot be read as HDF5: {error}")
        except KeyError as error:
            fail(f"{path} is no GADGET snapshot: {error}")

    def read(self, file, types, velocities):
        header = dict(file["Header"].attrs)
        facts = dict(header)
        for group in ("Units", "Parameters"):
            if group in file:
                facts.update(file[group].attrs)
        self.units = Units(facts)
        self.time = float(np.ravel(header["Time"])[0]) if "Time" in header else 0.0
        table = np.ravel(header.get("MassTable", np.zeros(6)))
        self.pos, self.mass, self.vel = {}, {}, {}
        for kind in range(6):
            name = f"PartType{kind}"
            if name not in file or (types and kind not in types):
                continue
            group = file[name]
            pos = group["Coordinates"][()]
            if pos.ndim != 2 or pos.shape[1] != 3:
                fail(f"{self.path}: /{name}/Coordinates has the shape {pos.shape}, not [N,3]")
            if "Masses" in group:
                mass = group["Masses"][()].astype(np.float64)
            elif kind < len(table) and table[kind] > 0:
                mass = np.full(len(pos), table[kind])
            else:
                fail(f"{self.path}: /{name} has neither Masses nor an entry in MassTable")
            if len(mass) != len(pos):
                fail(f"{self.path}: /{name} has {len(pos)} Coordinates and {len(mass)} Masses")
            self.pos[kind], self.mass[kind] = pos.astype(np.float64), mass
            if velocities:
                self.vel[kind] = group["Velocities"][()].astype(np.float64)
        if not sum(len(m) for m in self.mass.values()):
            fail(f"{self.path} has no particles" + (f" of type {', '.join(map(str, types))}" if types else ""))

    def all(self):
        return np.concatenate(list(self.pos.values())), np.concatenate(list(self.mass.values()))

    def time_text(self):
        return f"time {self.time:.4g}" + (f" $\\times$ {self.units.time}" if self.units.time else "")


def densest_centre(pos, mass, least=200):
    """Centre of mass of a sphere that shrinks by a tenth until few particles are left."""
    centre = np.average(pos, axis=0, weights=mass)
    radius2 = ((pos - centre) ** 2).sum(axis=1)
    radius = np.sqrt(np.quantile(radius2, 0.95))
    while len(pos) > least:
        inside = ((pos - centre) ** 2).sum(axis=1) < radius**2
        if inside.sum() < least:
            break
        pos, mass = pos[inside], mass[inside]
        centre = np.average(pos, axis=0, weights=mass) if mass.sum() > 0 else pos.mean(axis=0)
        radius *= 0.9
    return centre


def type_list(text):
    """For argparse: '1,2' to [1, 2]."""
    types = [int(word) for word in text.split(",")]
    if not all(0 <= kind < 6 for kind in types):
        raise ValueError
    return types
