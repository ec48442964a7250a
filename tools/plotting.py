# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plot scripts share: a Python with the modules, tables, units, style, legends, files of pictures,
messages."""
import argparse
import os
import re
import shutil
import stat
import subprocess
import sys

os.environ["MPLBACKEND"] = "Agg"   # no display is needed, whatever the environment asks for
# snapshots are only read, also where a file system knows no locks
os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
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

# Style and drawing are those of pyespalier: python/ is beside tools/, in the source tree as where it is installed.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "python"))
import matplotlib.pyplot as plt  # noqa: E402
from espalier_plots.measure import densest_centre, lagrangian  # noqa: E402, F401
# noqa: E402, F401
from espalier_plots.style import (COLOURS, FEW_DECADES, STYLE, TYPES, Units, count_text, legend_above, legend_beside,
                                  legend_on_top, line_colours, log_ticks, narrow_locator, ordered_colours, plain,
                                  powers)

from unit_systems import POWERS, Factors  # noqa: E402

plt.rcParams.update(STYLE)
# A phase has the same colour in every plot; phases after the first seven have hatched areas and other markers.
PHASES = ["walk", "hard_walk", "let_select", "hard_let", "build", "moments", "correct",
          "domain", "wait", "other", "diagnostics", "output", "order", "groups", "fof"]
AREAS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442"]
HATCHES = ["", "///", "...", "xxx"]
REST = "0.8"   # grey: phases that are too small for a label
POTENTIAL, TIDE = r"Agama|(External)?Potential\d*", "TidalField"   # parameters
ENDINGS = (".png", ".pdf", ".svg")

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
                        help="image; its ending chooses PNG, PDF or SVG; may be given several times (default: "
                             f"{default})")


def writable(path):
    """A file that cannot be written is an error here, before the work."""
    there = os.path.lexists(path)
    try:
        with open(path, "ab"):
            pass
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror}")
    if not there:
        os.remove(path)


def outputs(given, default):
    """Names of the pictures, which can be written."""
    paths = given or [default]
    for path in paths:
        if os.path.splitext(path)[1].lower() not in ENDINGS:
            fail(f"{path}: expected a name that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
        writable(path)
    return paths


def title_and_legend(axis, title, columns, **options):
    """A legend above the axes with the title over it, so that the panel keeps its width."""
    return legend_above(axis, ncols=columns, title=title, **{
        "loc": "lower left", "bbox_to_anchor": (0, 1), "title_fontsize": 11, "alignment": "left", "fontsize": 8,
        "handlelength": 1.8, "labelspacing": 0.3, **options})


def amount(value):
    """A number in a sentence: 76,820 or 0.001726."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"


def phase_number(name):
    """The number of a phase; an unknown phase gets one after those of PHASES, the same in every run."""
    return PHASES.index(name) if name in PHASES else len(PHASES) + sum(map(ord, name)) % len(PHASES)


def area_style(name):
    if name == "the rest":
        return {"facecolor": REST}
    number = phase_number(name)
    return {"facecolor": AREAS[number % len(AREAS)], "hatch": HATCHES[number // len(AREAS)]}


def ranks_axis(axis, most, ticks=8):
    """A logarithmic axis of numbers of ranks, from 1 to `most`, with at most so many ticks at powers of two."""
    powers = np.arange(0, np.floor(np.log2(most)) + 1)
    powers = powers[:: -(-len(powers) // ticks)]
    axis.set_xscale("log", base=2)
    axis.set_xticks(2**powers, [f"{2**power:.0f}" for power in powers])
    axis.minorticks_off()
    axis.set_xlabel("ranks P")


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
            fail(f"{path} cannot be read: {error.strerror}"
                 + ("" if os.path.isdir(folder) else f" (there is no folder {folder})"))
        fail(f"{path} cannot be read: {error.strerror}")


def some(names, most=12):
    """The first names, in short."""
    shown = [name if len(name) <= 30 else name[:27] + "..." for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")


class Table:
    """A CSV file with '#' lines, a header line and rows of numbers, but for columns of words. Columns are found by
    name. A column that is not needed may lack values, which are nan. powers: of units, by columns (unit_systems)."""

    def __init__(self, path, needed=(), words=(), powers=POWERS):
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
                        # empty: no value in this row
                        may_lack = [i for i, name in enumerate(names[:-1]) if name not in needed]
                    elif line.strip():
                        found = [word.strip() for word in line.split(",")]
                        try:
                            row = [float("nan" if i in worded or not word and i in may_lack else word)
                                   for i, word in enumerate(found)]
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
        self.made_by = next((re.sub(r"^espalier [^,]*, ", "", line) for line in comments
                             if line.startswith("espalier ")), "")
        keys = ("UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", "GravityConstantInternal")
        found = {key: re.search(key + r"\s*[=:]?\s*([-+0-9.eE]+)", text) for key in keys}
        facts = {key: match.group(1) for key, match in found.items() if match}
        try:
            factors = Factors(facts, bool(Units(facts).length))
        except ValueError as fault:
            fail(f"{path} {fault}")
        self.units = Units(factors.facts)
        self.data *= [factors.column(name, powers) for name in names]
        if "time" in names:
            self.units.fit_times(self["time"])

    def __contains__(self, name):
        return name in self.names

    def __getitem__(self, name):
        return self.data[:, self.names.index(name)]

    def vector(self, stem):
        return np.stack([self[f"{stem}_{axis}"] for axis in "xyz"], axis=1)

    def conserved_energy(self):
        """The total energy, with what mergers of stars have taken out."""
        return self["total"] + (self["energy_lost"] if "energy_lost" in self else 0)


def table_path(path, name):
    """A folder stands for the table of that name in it."""
    return os.path.join(path, name) if os.path.isdir(path) else path


def in_field(run, names):
    """Whether one of these parameters has a value in the run's parameters-used.ini."""
    path = os.path.join(os.path.dirname(run.path), "parameters-used.ini")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return bool(re.search(rf"(?m)^({names})[ \t]*=[ \t]*[^#\s]", file.read()))
    except OSError:
        return False


def same_units(things):
    """Tables or snapshots in one plot have the units of the first, and times in one unit."""
    for other in things[1:]:
        if other.units.text() != things[0].units.text():
            fail(f"{things[0].path} and {other.path} have different units: {things[0].units.text()}, and "
                 f"{other.units.text()}")
    times = [thing["time"] if isinstance(thing, Table) else [thing.time] for thing in things
             if isinstance(thing, Table) or np.isscalar(getattr(thing, "time", None))]
    for thing in things if times else ():
        thing.units.fit_times(np.concatenate(times))


def write_units(file, units, gravity=None):
    """Comments of a table that is written, as those of tables of a run."""
    if units.cgs:
        length, mass, velocity = units.cgs
        gravity = units.G_CGS * mass / length / velocity**2 if gravity is None else gravity
        file.write(f"# UnitLength_in_cm = {length:.6g}, UnitMass_in_g = {mass:.6g}, UnitVelocity_in_cm_per_s = "
                   f"{velocity:.6g}, GravityConstantInternal = {gravity:.9g}\n# unit of time: "
                   f"{length / velocity:.6g} s\n")
    else:
        file.write("# units: those of the snapshots\n")


class Scale:
    """Names of lengths and times: N-body units, Myr, or units of a model."""

    def __init__(self, moment):
        units = moment.units
        self.length, self.time, self.size = units.length, "Myr", units.time_size
        if units.length:
            self.size = units.time_size * Units.TIMES[units.time_unit] / Units.TIMES["Myr"]
            self.text = f"lengths in {units.length}, times in Myr"
        elif abs(moment.mass - 1) < 0.01 and abs((moment.gravity or 1) - 1) < 0.01:
            self.time = "N-body units"
            self.text = "lengths and times in N-body units"
        else:
            self.time = "model units"
            self.text = f"lengths and times in units of the model, mass {moment.mass:.4g}" + \
                (f", G {moment.gravity:.4g}" if moment.gravity else "")

    def time_text(self, time):
        return f"{time * self.size:.4g}" + (" Myr" if self.length else "")


def marks(count, symbol="o"):
    """Style of a line through so many points."""
    return {"marker": symbol if count <= 60 or symbol == "." else None, "markersize": 3.5}


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
