# SPDX-License-Identifier: GPL-3.0-or-later
"""What compare-schemes and calibrate-accuracy share: runs of espalier and their errors, tables of runs, interpolation,
progress.
Only Python's own modules; plotting.py draws."""
import csv
import importlib.util
import math
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time


class Failed(Exception):
    """A run that has no result. The message ends with the reason, a sentence."""

    def reason(self):
        return last_line(str(self))


def program():
    return os.path.basename(sys.argv[0])


def fail(message):
    """A sentence on the terminal, and exit status 1."""
    sys.exit(f"{program()}: {message}")


def warn(message):
    print(f"{program()}: {message}", file=sys.stderr, flush=True)


def positive(name, text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value > 0 and math.isfinite(value)):
        fail(f"{name}: expected a number above 0, found '{text}'")
    return value


def positives(name, text):
    """'0.01,1e-3' to numbers, which are all above 0."""
    return [positive(name, word) for word in text.split(",")]


def whole(name, text, least):
    """A whole number, also as 1e5."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value == int(value) and value >= least):
        fail(f"{name}: expected a whole number of at least {least}, found '{text}'")
    return int(value)


def check_program(path, name=None):
    if not shutil.which(path):
        fail(f"{name + ': ' if name else ''}{path}: there is no such program")


def check_file(path, name=None):
    if not os.path.isfile(path):
        fail(f"{name + ': ' if name else ''}{path}: there is no such file")


def check_output(name, path):
    """End with a message, before the runs, if the file cannot be written."""
    there = os.path.exists(path)
    try:
        open(path, "a").close()
    except OSError as problem:
        fail(f"{name}: {path} cannot be written: {problem.strerror}")
    if not there:
        os.remove(path)


def check_picture(path):
    check_output("--picture", path)
    if importlib.util.find_spec("plotting") is None:
        fail("--picture: plotting.py, which draws it, is not beside this script")
    from plotting import outputs   # continues with a python3 that has the modules, if this one has not
    outputs([path], None)


def launcher(text):
    try:
        words = shlex.split(text)
    except ValueError as problem:
        fail(f"--launcher: {text}: {problem}")
    if words and not shutil.which(words[0]):
        fail(f"--launcher: {words[0]}: there is no such program")
    return words


def table_of(path):
    """The rows of a table with '#' lines, as dictionaries of words."""
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def end(process):
    """End a program and what it has started: mpirun ends its ranks at SIGTERM."""
    for sign, seconds in (signal.SIGTERM, 20), (signal.SIGKILL, None):
        try:
            os.killpg(process.pid, sign)
            process.communicate(timeout=seconds)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            pass


def call(command, limit=None):
    """Run a program to its end, or for `limit` seconds (subprocess.TimeoutExpired): its exit status and its output with
    its errors."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, start_new_session=True)
    try:
        output = process.communicate(timeout=limit)[0]
    except BaseException:
        end(process)
        raise
    return process.returncode, output


# --- runs ------------------------------------------------------------------------------------------------------------

def chosen_scheme(folder):
    """The scheme that the last choice of a run took, of choice.csv; without this table that of the parameters. '' if
    unknown."""
    path = os.path.join(folder, "choice.csv")
    if os.path.exists(path):
        taken = [row for row in table_of(path) if row.get("chosen") == "1"]
        if not taken:
            return ""
        ratio = taken[-1].get("R1OverR0")
        return (taken[-1].get("candidate") or "") + (f", R1 = {ratio} R0" if ratio else "")
    values = {}
    try:
        with open(os.path.join(folder, "parameters-used.ini")) as file:
            for line in file:
                name, equals, value = line.partition("=")
                if equals and name[:1] not in "#;":
                    values[name.strip()] = value.strip()
    except OSError:
        return ""
    return {"hybrid": "hybrid", "tree": values.get("Scheme", "")}.get(values.get("Mode"), "")


def errors_of_snapshots(true_energy, folder):
    """dE/E of the snapshots of a folder, relative to the first, by the program tests/true_energy."""
    names = sorted(n for n in os.listdir(folder) if n.startswith("snapshot_") and n.endswith(".hdf5"))
    command = [true_energy] + [os.path.join(folder, n) for n in names]
    status, output = call(command)
    try:
        total = [float(line.split()[3]) for line in output.splitlines() if not line.startswith("#")]
    except (ValueError, IndexError):
        total = []
    if status or len(total) != len(names) or len(total) < 2:
        raise Failed(f"{true_energy} does not give the energies of {len(names)} snapshots: {last_line(output)}")
    return [(e - total[0]) / abs(total[0]) if total[0] else e for e in total]


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"


def busy():
    """Seconds of cores in programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Runner:
    """Runs espalier. `true`: the program tests/true_energy, by which errors are then measured on this number of
    snapshots; `limit`: seconds after which a run is ended; `force`: run also what espalier run --check finds worthless;
    `cpu_time`: seconds are those that cores
    were busy."""

    def __init__(self, espalier, words=(), true=None, snapshots=5, limit=None, force=False, extra=(), cpu_time=False):
        self.cpu_time = cpu_time
        self.espalier, self.words, self.true, self.snapshots, self.limit = espalier, list(words), true, snapshots, limit
        self.force, self.extra = force, list(extra)

    def make(self, model, folder):
        """The model's file, which espalier ic writes where it does not come from the user. Fails with a sentence."""
        if model.make is None:
            return
        model.path = os.path.join(folder, model.name + ".hdf5")
        status, output = call([self.espalier, "ic"] + model.make + ["-o", model.path])
        if status:
            raise Failed(f"espalier ic {' '.join(model.make)}: {last_line(output)}")

    def run(self, model, length, parameters):
        """A run of this length of time: its largest |dE/E| as reported and (None without `true`) from snapshots,
        `error`: the second if it is there, else the first; errors: dE/E of each snapshot; seconds of the steps and
        counts of evaluations per unit of time, mean h, the scheme that was chosen.
        Raises Failed."""
        with tempfile.TemporaryDirectory() as folder:
            ini, out = os.path.join(folder, "run.ini"), os.path.join(folder, "out")
            with open(ini, "w") as file:
                file.write(f"[Input]\nInitCondFile = {os.path.abspath(model.path)}\n[Output]\nOutputDir = {out}\n")
                if self.true:
                    file.write(f"TimeBetSnapshot = {length / (self.snapshots - 1):.17g}\n")
                file.write("[Units]\n" + "".join(f"{name} = {value}\n" for name, value in model.units.items()))
                file.write(f"[Time]\nTimeMax = {model.start + length:.17g}\n[Gravity]\nSoftening = "
                           f"{model.softening:.17g}\n")
            given = [w for p in list(parameters) + self.extra for w in ("-P", p)]
            command = self.words + [self.espalier, "run"] + (["--force"] if self.force else []) + given + [ini]
            before = busy()
            try:
                status, output = call(command, self.limit)
            except subprocess.TimeoutExpired:
                raise Failed(f"it takes longer than {self.limit:g} s") from None
            except OSError as problem:
                fail(f"{command[0]}: {problem.strerror}")
            if status not in (0, 3):   # 3: finished, with a large energy error
                raise Failed(" ".join(command) + "\n" + output[-2000:])
            result = self.read(os.path.join(out, "steps.csv"), length)
            if self.cpu_time:
                result["seconds"] = (busy() - before) / length
            result["chosen"] = chosen_scheme(out)
            result["errors"] = errors_of_snapshots(self.true, out) if self.true else []
            result["true"] = max(map(abs, result["errors"]), default=None)
            result["error"] = result["reported"] if result["true"] is None else result["true"]
            return result

    def read(self, path, length):
        steps = table_of(path)
        errors = [abs(float(s["dE"])) for s in steps if s["dE"]]
        if not errors:
            raise Failed("no run has energies in steps.csv: leave TimeBetStatistics and the time as they are, or take "
                         "a longer one")
        n = int(float(steps[0]["evaluations_full"]))   # every particle once
        mean = {k: sum(float(s[k] or 0) for s in steps) / length
                for k in ("seconds", "evaluations_full", "evaluations_hard")}
        h = [float(s["h"]) for s in steps if s["h"] and float(s["h"]) > 0]
        return {"reported": max(errors), "seconds": mean["seconds"], "soft_steps": len(steps) / length,
                "h": sum(h) / len(h) if h else 0, "evaluations_full": mean["evaluations_full"] / n,
                "evaluations_hard": mean["evaluations_hard"] / n}


# --- interpolation ---------------------------------------------------------------------------------------------------

def unbeaten(rows):
    """The runs that no other beats in error and seconds, by growing error: their seconds fall."""
    return sorted((r for r in rows if not any(o["error"] <= r["error"] and o["seconds"] < r["seconds"] for o in rows)),
                  key=lambda r: r["error"])


def seconds_within(rows, error):
    """The shortest time in which these runs have at most this error, interpolated in logarithms between neighbouring
    unbeaten runs. None
    where no run has so small an error."""
    best = unbeaten(rows)
    if not best or error < best[0]["error"]:
        return None
    for a, b in zip(best, best[1:]):
        if a["error"] <= error < b["error"]:
            if a["error"] <= 0:
                return a["seconds"]
            w = math.log(error / a["error"]) / math.log(b["error"] / a["error"])
            return math.exp((1 - w) * math.log(a["seconds"]) + w * math.log(b["seconds"]))
    return best[-1]["seconds"]


# --- tables and progress ---------------------------------------------------------------------------------------------

# columns; the others are numbers
TEXTS = {"model", "scheme", "scan", "label", "accuracy", "chosen", "parameters", "errors"}


class Table:
    """A CSV file of runs that has every run as soon as it is done. With `keep` the rows that it already has stay, in
    `rows`. Without a
    path rows are only kept in memory."""

    def __init__(self, path, columns, keep=False):
        self.path, self.columns, self.rows = path, columns, []
        if keep and os.path.exists(path) and os.path.getsize(path):
            self.rows = [self.numbers(row) for row in self.complete()]
        if path:
            with open(path, "w", newline="") as file:
                out = csv.DictWriter(file, columns, lineterminator="\n")
                out.writeheader()
                out.writerows(self.rows)

    def complete(self):
        """The rows of the file, without one that an interruption cut."""
        rows = table_of(self.path)
        if not rows or list(rows[0]) != self.columns:
            fail(f"--continue: {self.path} is not a table of this command (expected the columns "
                 f"{', '.join(self.columns[:4])}, ...)")
        return [row for row in rows if None not in row and None not in row.values()]

    def numbers(self, row):
        try:
            return {k: v if k in TEXTS else float(v) if v else None for k, v in row.items()}
        except ValueError as problem:
            fail(f"--continue: {self.path}: {problem}")

    def find(self, key):
        """The first row with these values."""
        return next((r for r in self.rows if all(r[k] == v for k, v in key.items())), None)

    def add(self, row):
        row = {k: row.get(k) for k in self.columns}
        self.rows.append(row)
        if self.path:
            with open(self.path, "a", newline="") as file:
                csv.DictWriter(file, self.columns, lineterminator="\n").writerow(row)


def duration(seconds):
    return (f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min" if seconds < 6000
            else f"{seconds / 3600:.1f} h")


class Progress:
    """Lines on stderr, with the time that is left. weights: of all runs, (model, weight), in their order, the weight
    being about proportional to the run's time. The rate is that of the model's runs so far, or of all where it has
    none."""

    def __init__(self, weights, clock=time.monotonic):
        self.weights, self.clock, self.done, self.spent = weights, clock, 0, {}
        self.last = clock()

    def left(self):
        """Seconds until the end; None before the first run."""
        whole_weight, whole_seconds = (sum(s[i] for s in self.spent.values()) for i in (0, 1))
        if not whole_weight:
            return None
        rest = 0.0
        for model, weight in self.weights[self.done:]:
            w, s = self.spent.get(model, (whole_weight, whole_seconds))
            rest += weight * s / w
        return rest

    def step(self, label):
        """A run has ended."""
        now = self.clock()
        model, weight = self.weights[self.done]
        w, s = self.spent.get(model, (0, 0))
        self.spent[model] = w + weight, s + now - self.last
        self.done += 1
        rest = "" if self.done == len(self.weights) else f", about {duration(self.left())} left"
        print(f"[{self.done}/{len(self.weights)}] {model} {label}: {duration(now - self.last)}{rest}", file=sys.stderr,
              flush=True)
        self.last = now
