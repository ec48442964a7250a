# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plot scripts share: a Python with the modules, tables, units, style, legends, files of pictures, messages."""
import argparse
import os
import re
import shutil
import stat
import subprocess
import sys

os.environ["MPLBACKEND"] = "Agg"   # no display is needed, whatever the environment asks for
os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")   # snapshots are only read, also where a file system knows no locks
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

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogFormatter, LogLocator, MaxNLocator, NullFormatter  # noqa: E402

# Okabe and Ito's colours, which colour-blind readers can distinguish; grey replaces their yellow, which is faint as a line.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C"]
# A phase has the same colour in every plot; phases after the first seven have hatched areas and other markers.
PHASES = ["walk", "hard_walk", "let_select", "hard_let", "build", "moments", "correct",
          "domain", "wait", "other", "diagnostics", "output", "order", "groups", "fof"]
AREAS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442"]
HATCHES = ["", "///", "...", "xxx"]
REST = "0.8"   # grey: phases that are too small for a label
TYPES = ["gas", "halo", "disk", "bulge", "stars", "boundary"]
ENDINGS = (".png", ".pdf", ".svg")
plt.rcParams.update({
    "axes.prop_cycle": matplotlib.cycler(color=COLOURS), "axes.grid": True, "grid.alpha": 0.25, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "font.size": 10, "axes.titlesize": 11, "axes.titlelocation": "left",
    "legend.frameon": False, "legend.fontsize": 9, "figure.dpi": 120, "savefig.dpi": 150, "lines.linewidth": 1.4,
    "hatch.linewidth": 0.6, "axes.formatter.limits": (-3, 4), "axes.formatter.use_mathtext": True,
    "pdf.fonttype": 42, "svg.fonttype": "none"})   # text in PDF and SVG can be searched and edited


if hasattr(sys.stdout, "reconfigure"):
    sys.stdout.reconfigure(errors="backslashreplace")   # any file name can be printed


def shown(name):
    """A file name as a label: not read as a formula, and shown in legends, which leave out names that begin with _."""
    name = name.encode("utf-8", "replace").decode().replace("$", r"\$")
    return " " + name if name.startswith("_") else name


def program():
    """The name of the command: espalier-plot KIND for plot_KIND.py."""
    name = os.path.basename(sys.argv[0])
    kind = re.fullmatch(r"plot_(\w+)\.py", name)
    return f"espalier-plot {kind.group(1)}" if kind else name


def warn(message):
    print(f"{program()}: {message}", file=sys.stderr)


def fail(message):
    """A sentence on the terminal, and exit status 1."""
    sys.exit(f"{program()}: {message}")


def start(main):
    """Run a script; an interrupt, lack of memory or a closed pipe ends it without a traceback."""
    try:
        main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except MemoryError:
        fail("there is not enough memory")
    except BrokenPipeError:   # 'espalier-plot ... | head'
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


class Help(argparse.RawDescriptionHelpFormatter):
    """Help as it was written, on wide terminals too."""


def add_output(parser, default):
    parser.add_argument("-o", "--output", metavar="FILE", action="append",
                        help=f"image; its ending chooses PNG, PDF or SVG; may be given several times (default: {default})")


def outputs(given, default):
    """Names of the pictures. One that cannot be written is an error here, before the work."""
    paths = given or [default]
    for path in paths:
        if os.path.splitext(path)[1].lower() not in ENDINGS:
            fail(f"{path}: expected a name that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
        there = os.path.lexists(path)
        try:
            with open(path, "ab"):
                pass
        except OSError as error:
            fail(f"{path} cannot be written: {error.strerror}")
        if not there:
            os.remove(path)
    return paths


def plain(value, _=None):
    """A tick as 0.02 or 500."""
    return f"{value:.6g}"


def powers(value, _=None):
    """A tick as a power of ten, or a multiple of one."""
    power = int(np.floor(np.log10(value) + 1e-9))
    factor = round(value / 10.0**power, 6)
    return f"$10^{{{power}}}$" if factor == 1 else f"${factor:g}\\times10^{{{power}}}$"


FEW_DECADES = 2.2


def narrow_locator(decades):
    """Ticks at 2 and 5 too, or at all round numbers."""
    return LogLocator(subs=(1, 2, 5), numticks=20) if decades > 0.7 else MaxNLocator(6, steps=[1, 2, 5, 10])


def log_ticks(axis, low, high):
    """Ticks of an axis that spans few decades have numbers at 2 and 5 too, or at all round numbers, so that there are always some."""
    ours = isinstance(axis.get_major_formatter(), LogFormatter)
    if axis.get_scale() != "log" or not 0 < low < high or not ours or getattr(axis.get_transform(), "base", 10) != 10:
        return
    decades = np.log10(high / low)
    if decades < FEW_DECADES:
        axis.set_major_locator(narrow_locator(decades))
        axis.set_major_formatter(FuncFormatter(plain if low > 1e-3 and high < 2e4 else powers))
    axis.set_minor_formatter(NullFormatter())


def legend_beside(axis, **options):
    """To the right of the axes, where it hides nothing."""
    return axis.legend(**{"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "borderaxespad": 0, **options})


def legend_above(axis, **options):
    """Above the axes, at the right, on the line of the title or over it, where it hides nothing."""
    count = len(options.get("handles", axis.get_legend_handles_labels()[0]))
    return axis.legend(**{"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2, "ncols": count, "columnspacing": 1.0,
                          "handlelength": 1.6, "handletextpad": 0.5, **options})


def legend_on_top(figure, handles, title=None, most=3):
    """Over all axes of a figure, which make room for it."""
    legend = figure.legend(handles=handles, loc="upper left", ncols=min(most, len(handles)), title=title, alignment="left", borderaxespad=0.6)
    height = legend.get_window_extent(figure.canvas.get_renderer()).height / figure.bbox.height
    room = 1 - height - 0.08 / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, 0, 1, room))


def line_colours(count):
    """This number of different colours, from COLOURS or, for more, from a colour scale."""
    return COLOURS[:count] if count <= len(COLOURS) else list(plt.get_cmap("viridis")(np.linspace(0, 0.93, count)))


def phase_number(name):
    """The number of a phase; an unknown phase gets one after those of PHASES, the same in every run."""
    return PHASES.index(name) if name in PHASES else len(PHASES) + sum(map(ord, name)) % len(PHASES)


def area_style(name):
    if name == "the rest":
        return {"facecolor": REST}
    number = phase_number(name)
    return {"facecolor": AREAS[number % len(AREAS)], "hatch": HATCHES[number // len(AREAS)]}


def save(figure, paths):
    """Write the picture under each of the names; a file is written completely or not at all."""
    for axes in figure.axes:
        log_ticks(axes.xaxis, *sorted(axes.get_xlim()))
        log_ticks(axes.yaxis, *sorted(axes.get_ylim()))
    for path in paths:
        ending = os.path.splitext(path)[1][1:].lower()
        target = os.path.realpath(path)
        special = os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode)
        part = target if special else f"{target}.{os.getpid()}.tmp"
        try:
            figure.savefig(part, format=ending)
            if not special:
                os.replace(part, target)
        except OSError as error:
            if not special and os.path.exists(part):
                os.remove(part)
            fail(f"{path} cannot be written: {error.strerror or error}")
        print(path)


class Units:
    """Names of the internal units; empty for a dimensionless model, which a file states, or whose gravitational constant is not consistent
    with the units."""
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
        self.length = self.mass = self.time = self.time_unit = self.velocity = ""
        self.time_size = 1.0   # internal units of time are so many of time_unit
        if not (length > 0 and mass > 0 and velocity > 0) or facts.get("UnitSystem") in (b"dimensionless", "dimensionless"):
            return
        if gravity > 0 and abs(gravity * length * velocity**2 / mass / self.G_CGS - 1) > 0.01:
            return
        self.length = self.name(length, self.LENGTHS, "cm")
        power = round(np.log10(mass / self.MASSES[r"M$_\odot$"]))
        suns = abs(mass / self.MASSES[r"M$_\odot$"] / 10.0**power - 1) < 2e-3 and power > 0
        self.mass = rf"$10^{{{power}}}\,$M$_\odot$" if suns else self.name(mass, self.MASSES, "g")
        seconds = length / velocity
        unit = next((n for n, s in self.TIMES.items() if seconds >= 0.1 * s), "s")
        self.time_unit, self.time_size = unit, seconds / self.TIMES[unit]
        self.time = f"{self.time_size:.4g} {unit}"
        self.velocity = {1e5: "km/s", 1e2: "m/s", 1.0: "cm/s"}.get(velocity, f"{velocity / 1e5:.4g} km/s" if velocity >= 1e4 else f"{velocity:.4g} cm/s")

    def text(self):
        return f"{self.length}, {self.mass}, {self.time}" if self.length else "model units"

    def product(self, *names):
        """'kpc km/s' of 'length', 'velocity'; nothing where units have no names."""
        return " ".join(getattr(self, name) for name in names) if self.length else ""

    @staticmethod
    def name(value, names, base):
        for text, size in names.items():
            if abs(value / size - 1) < 2e-3:
                return text
        return f"{value:.4g} {base}"

    @staticmethod
    def label(quantity, unit):
        return f"{quantity} [{unit}]" if unit else quantity

    def time_text(self, time):
        return f"time {time * self.time_size:.4g}" + (f" {self.time_unit}" if self.time_unit else "")


def check_text(path):
    """A table is text."""
    if os.path.isdir(path):
        fail(f"{path} is a folder, not a table")
    try:
        with open(path, "rb") as file:
            if b"\0" in file.read(4096):
                fail(f"{path} is not a table of text")
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            folder = os.path.dirname(path) or "."
            fail(f"{path} cannot be read: {error.strerror}" + ("" if os.path.isdir(folder) else f" (there is no folder {folder})"))
        fail(f"{path} cannot be read: {error.strerror}")


def some(names, most=12):
    """The first names, in short."""
    shown = [name if len(name) <= 30 else name[:27] + "..." for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")


class Table:
    """A CSV file with '#' lines, a header line and rows of numbers, but for columns of words. Columns are found by name. A column that is
    not needed may lack values, which are nan."""

    def __init__(self, path, needed=(), words=()):
        self.path = path
        comments, rows, names, cut, may_lack = [], [], None, 0, []
        self.words, worded = {name: [] for name in words}, {}
        check_text(path)
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                for number, line in enumerate(file, 1):
                    if line.startswith("#"):
                        comments.append(line[1:].strip())
                    elif names is None and line.strip():
                        names = [name.strip() for name in line.split(",")]
                        worded = {names.index(name): name for name in words if name in names}
                        may_lack = [i for i, name in enumerate(names[:-1]) if name not in needed]   # empty: no value in this row
                    elif line.strip():
                        found = [word.strip() for word in line.split(",")]
                        try:
                            row = [float("nan" if i in worded or not word and i in may_lack else word) for i, word in enumerate(found)]
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
        if cut and rows:
            warn(f"{path}:{cut}: not a row of {len(names)} numbers, left out")
        missing = [name for name in needed if name not in names]
        if missing:
            fail(f"{path} has no column '{missing[0]}' (its columns: {some(names)})")
        if not rows:
            fail(f"{path} has no rows yet")
        self.names, self.data = names, np.array(rows)
        self.words = {name: np.array(column) for name, column in self.words.items()}
        self.comments = text = "\n".join(comments)
        self.made_by = next((re.sub(r"^espalier [^,]*, ", "", line) for line in comments if line.startswith("espalier ")), "")
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


def same_units(things):
    """Tables or snapshots in one plot have the units of the first."""
    for other in things[1:]:
        if other.units.text() != things[0].units.text():
            fail(f"{things[0].path} and {other.path} have different units: {things[0].units.text()}, and {other.units.text()}")


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


def lagrangian(radius, mass, fractions):
    """Lagrangian radii: those that hold these fractions of the mass."""
    order = np.argsort(radius)
    sums = np.cumsum(mass[order])
    return [radius[order][np.searchsorted(sums, f * sums[-1]).clip(0, len(sums) - 1)] for f in fractions]


def positive(text):
    """For argparse: a number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not (value > 0 and np.isfinite(value)):
        raise argparse.ArgumentTypeError(f"expected a number above 0, found '{text}'")
    return value


def type_list(text):
    """For argparse: '1,2' to [1, 2]."""
    words = text.split(",")
    if not all(word in ("0", "1", "2", "3", "4", "5") for word in words):
        raise argparse.ArgumentTypeError(f"expected numbers from 0 to 5 with commas between them, found '{text}'")
    return [int(word) for word in words]
