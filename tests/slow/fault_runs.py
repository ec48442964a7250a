# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs with faults, and what is wrong with them. Used by faults.py, which says what is tried.

A trial is a folder with stages: runs of espalier there, with the shim of fault_shim.c or without it. The first one goes
to TimeMax FIRST, restarts go on to WHOLE. Runs without faults of the same ranks and files are the reference: every file
of a trial must be that of the reference, bit by bit, or its loss must be told on standard error, with exit status 1."""
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading

try:
    import h5py
except ImportError:
    h5py = None

FIRST, WHOLE, BETWEEN = 0.125, 0.1875, 0.03125
TABLES = {"energy.csv": (), "steps.csv": ("h", "imbalance_seconds", "seconds"),
          "substeps.csv": ("select", "rebuild", "moments", "walk", "correct", "all")}
RUN_INI = f"""[Input]
InitCondFile = ../plummer.hdf5
[Output]
OutputDir = out
TimeBetSnapshot = {BETWEEN}
SubstepLog = on
TimeBetStatistics = 1e-9
[Checkpoints]
CheckpointAtEnd = on
TimeBetCheckpoints = 1e-7
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = {FIRST}
[Gravity]
Softening = 0.0139
[Device]
Tuning = frozen
Backend = cpu
[Split]
Mode = hybrid
SoftStep = 0.015625
[Steps]
Scheme = block
"""


class Place:
    """What all trials share: the programs, the folder, the limit of time."""

    def __init__(self, espalier, folder, shim, seconds):
        self.espalier, self.folder, self.shim, self.seconds = espalier, folder, shim, seconds
        self.launcher = [os.environ.get("MPIRUN", "mpirun")] + os.environ.get("MPIRUN_FLAGS", "").split()
        self.references, self.lock = {}, threading.Lock()
        with open(os.path.join(folder, "run.ini"), "w") as ini:
            ini.write(RUN_INI)
        made = subprocess.run(self.launcher + ["-n", "1", espalier, "ic", "plummer", "-n", "600", "-s", "3", "-o",
                                               "plummer.hdf5"],
                              cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if made.returncode:
            raise SystemExit(f"no initial conditions: {made.stdout}{made.stderr}")


class Stage:
    """One run: exit status (None: it did not end in time), standard output and error, faults that the shim wrote
    down."""

    def __init__(self, status, out, err, faults):
        self.status, self.out, self.err, self.faults = status, out, err, faults

    def reached_end(self):
        return "\ndone: time" in self.out

    def started(self):
        return " particles on " in self.out

    def told(self, *words):
        """Whether a line of the program on standard error has one of the words."""
        return any(line.startswith("espalier:") and any(word in line for word in words)
                   for line in self.err.splitlines())

    def not_told(self, missing):
        """Of these snapshots those that standard error names neither by file, nor by number and time, nor by how many
        they are."""
        counted = max([int(n) for n in re.findall(r"(\d+) snapshots? (?:could|can)", self.err)] or [0])
        numbers = {int(n) for n in re.findall(r"snapshot[_ ]0*(\d+)|snapdir_0*(\d+)", self.err) for n in n if n}
        for text in re.findall(r"missing: (.*)", self.err):   # 1, 3 to 5 (times 0.1 to 0.2); or 1,3-5
            for first, last in re.findall(r"(\d+)(?:(?: to |-)(\d+))?", re.sub(r"\([^)]*\)", "", text)):
                numbers.update(range(int(first), int(last or first) + 1))
        return [n for n in missing if n not in numbers] if counted < len(missing) else []


class Trial:
    def __init__(self, place, name, ranks, files):
        self.place, self.name, self.ranks, self.files = place, name, ranks, files
        self.folder = os.path.join(place.folder, name)
        self.out = os.path.join(self.folder, "out")
        self.stages, self.wrong = [], []
        os.makedirs(self.folder)
        self.session = tempfile.mkdtemp(prefix="faults")   # of MPI; singletons that start at once would share one

    def path(self, *parts):
        return os.path.join(self.out, *parts)

    def fail(self, kind, text):
        self.wrong.append((kind, text))

    def run(self, *options, plan="", do="", time_max=FIRST, command="run", ranks=0):
        """Append a stage. What no exit status excuses is wrong: a crash, a hang, a failure without a sentence."""
        at = len(self.stages)
        log, out, err = (os.path.join(self.folder, f"{name}{at}") for name in ("faults", "stdout", "stderr"))
        shim = [f"FAULT_BELOW={self.out}", f"FAULT_LOG={log}", f"FAULT_PLAN={plan}", f"FAULT_DO={do}",
                f"LD_PRELOAD={self.place.shim}"]
        ranks = ranks or self.ranks
        launcher = self.place.launcher + ["-n", str(ranks)] if ranks > 1 else []
        arguments = launcher + (["env"] + shim if plan else []) + [self.place.espalier, command, "-P",
                                                                   f"Time:TimeMax={time_max}", "-P",
                                                                   f"Output:NumFilesPerSnapshot={self.files}", *options,
                                                                   "../run.ini"]
        with open(os.path.join(self.folder, f"command{at}"), "w") as kept:
            kept.write(" ".join(f"'{a}'" for a in arguments) + "\n")
        environment = dict(os.environ, TMPDIR=self.session, OMPI_MCA_btl_vader_backing_directory=self.session)
        with open(out, "w") as to, open(err, "w") as errors:
            process = subprocess.Popen(arguments, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=to, stderr=errors,
                                       env=environment, start_new_session=True)
            try:
                status = process.wait(self.place.seconds)
            except subprocess.TimeoutExpired:
                status = None
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        texts = [open(f, errors="replace").read() if os.path.exists(f) else "" for f in (out, err, log)]
        stage = Stage(status, texts[0], texts[1], texts[2].splitlines())
        self.stages.append(stage)
        return stage

    def judge_end(self, stage):
        """How the process ended."""
        at = f"stage {self.stages.index(stage)}"
        if stage.status is None:
            self.fail("hang", f"{at}: still there after {self.place.seconds} s")
        elif stage.status < 0 or stage.status >= 128:
            self.fail("crash", f"{at}: exit status {stage.status}: {last_line(stage.err)}")
        elif "MPI_ABORT was invoked" in stage.err or "MPI_Abort" in stage.err:
            self.fail("abort", f"{at}: {first_line(stage.err)}")
        elif stage.status not in (0, 1):
            self.fail("status", f"{at}: exit status {stage.status}: {last_line(stage.err)}")
        elif stage.status == 1 and not stage.told("espalier:"):
            self.fail("silent", f"{at}: exit status 1 without a sentence")

    def judge(self, stage, time_max, interrupted=False, earlier=False):
        """What the stage left: each loss is told by it, with exit status 1 (0 where the run was interrupted, and a
        restart follows). `earlier`: tables may have been damaged before, of which a warning is enough."""
        self.judge_end(stage)
        at = f"stage {self.stages.index(stage)}"
        if any(kind in ("hang", "crash", "abort") for kind, _ in self.wrong):
            return
        lost = 0
        if stage.status == 0 and not interrupted and not stage.reached_end() and "nothing" not in stage.out:
            self.fail("untold-end", f"{at}: exit status 0, but the run did not come to its end: {last_line(stage.out)}")
        if (stage.reached_end() or earlier) and not interrupted:
            numbers = range(round(time_max / BETWEEN) + 1)
            missing = [n for n in numbers if not os.path.isfile(self.path(f"snapshot_{n:03d}.hdf5"))]
            lost += len(missing)
            for n in stage.not_told(missing):
                self.fail("untold-snapshot",
                          f"{at}: snapshot_{n:03d}.hdf5 is missing, and standard error does not say so")
        for table in TABLES:
            state = self.table(table, time_max)
            if state == "same" or (state in ("begin", "missing") and not stage.reached_end()):
                continue
            lost += not earlier
            if not stage.told(table, "tables"):
                self.fail("untold-table",
                          f"{at}: {table} is {state}, and standard error does not say so (exit status {stage.status})")
        if stage.reached_end() and not interrupted and not self.checkpoint_at_end(time_max):
            lost += 1
            if not stage.told("checkpoint"):
                self.fail("untold-checkpoint", f"{at}: no checkpoint at the end, and standard error does not say so")
        if lost and stage.status == 0 and not interrupted:
            self.fail("status-0", f"{at}: exit status 0, but something is lost: {last_line(stage.err)}")
        state = self.status_file()
        if stage.status == 0 and state not in (("interrupted",) if interrupted else ("finished",)):
            self.fail("untold-status", f"{at}: exit status 0, but state={state}")
        # a finished run may say so
        lacks = re.search(r"^(snapshots_missing|table_bytes_unwritten)=", self.status_text(), re.M)
        wrong = state == "running" or (state == "finished" and not lacks and not stage.told("checkpoint"))
        if stage.status == 1 and wrong and stage.started() and not stage.told("status", "/cont "):
            self.fail("untold-status", f"{at}: exit status 1, but state={state}")

    def status_file(self):
        found = re.search(r"^state=(.*)", self.status_text())
        return found.group(1) if found else None

    def status_text(self):
        return content(self.path("status")).decode("utf-8", "replace")

    def checkpoints(self):
        return sorted(c for c in glob.glob(self.path("checkpoints", "checkpoint_*"))
                      if re.fullmatch(r".*/checkpoint_\d{6}", c))

    def checkpoint_at_end(self, time_max):
        return os.path.isdir(self.path("checkpoints", f"checkpoint_{round(time_max / 0.015625):06d}"))

    def table(self, name, time_max):
        """Of a table: same, begin (the first rows of the reference, whole), missing, damaged."""
        whole = reference(self.place, self.ranks, self.files).tables[time_max][name]
        if not os.path.isfile(self.path(name)):
            return "missing"
        mine = rows(self.path(name), TABLES[name])
        return "same" if mine == whole else "begin" if mine == whole[:len(mine)] else "damaged"

    def judge_files(self, checkpoints=True):
        """All that has a good name can be read: snapshots are those of the reference, or late and said to be;
        checkpoints verify."""
        said = "".join(stage.out for stage in self.stages)
        good = reference(self.place, self.ranks, self.files).snapshots
        for path in sorted(filter(os.path.isfile, glob.glob(self.path("snapshot_*.hdf5")))):
            name = os.path.basename(path)
            if digest(path) in good[name]:
                continue
            late = re.search(re.escape(name) + r" at time \S+ \(late\)", said)
            if not late and not any(stage.told(name, f"snapdir_{name[9:12]}") for stage in self.stages):
                self.fail("bits", f"{name} differs from the reference, and was not said to be late")
            self.readable(path)
        for folder in self.checkpoints() if checkpoints else []:
            number = int(folder[-6:])
            check = self.run("--check", "-r", str(number), time_max=WHOLE, ranks=1)
            if check.status != 0:
                self.fail("badcheckpoint", f"{os.path.basename(folder)}: {first_line(check.err)}")

    def readable(self, path):
        try:
            if h5py:
                with h5py.File(path, "r") as file:
                    file.visititems(lambda name, item: item[()] if isinstance(item, h5py.Dataset) else None)
                    dict(file["Header"].attrs)
        except Exception as error:   # whatever h5py has for a damaged file
            self.fail("badfile", f"{os.path.basename(path)}: h5py cannot read it: {error}")
            return
        read = self.run("-P", f"Input:InitCondFile={path}", "-P", "Gravity:TypeOfOpeningCriterion=angle", time_max=1000,
                        command="force", ranks=1)
        if read.status != 0:
            self.fail("badfile", f"{os.path.basename(path)}: espalier cannot read it: {first_line(read.err)}")

    def recover(self):
        """A restart without faults: from the last good checkpoint to the same bits."""
        newest = self.checkpoints()[-1:]
        stage = self.run(*(("-r", "last") if newest else ("--overwrite",)), time_max=WHOLE)
        at = f"restart without faults, stage {self.stages.index(stage)}"
        before = len(self.wrong)
        self.judge_end(stage)
        if len(self.wrong) > before:
            return
        if newest and "a damaged checkpoint is skipped" in stage.err:
            self.fail("badcheckpoint", f"{at}: {first_line(stage.err)}")
        if stage.status == 1 and not stage.reached_end() and not stage.told("missing"):
            self.fail("restart", f"{at}: {first_line(stage.err)}")
        else:
            self.judge(stage, WHOLE, earlier=True)

    def copy_of(self, base):
        shutil.copytree(os.path.join(base.folder, "out"), self.out)

    def end(self, keep):
        """What killed ranks leave goes away, and so do the files, unless they are kept."""
        shutil.rmtree(self.session, ignore_errors=True)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


class Reference:
    """Runs without faults: to FIRST and to WHOLE; digests of snapshots by name, tables by TimeMax."""

    def __init__(self, place, ranks, files):
        self.snapshots, self.tables = {}, {}
        self.trial = Trial(place, f"reference-{ranks}-{files}", ranks, files)
        self.note(self.trial.run(), FIRST, self.trial)
        going_on = Trial(place, f"reference-{ranks}-{files}-on", ranks, files)
        going_on.copy_of(self.trial)
        self.note(going_on.run("-r", "last", time_max=WHOLE), WHOLE, going_on)
        again = Trial(place, f"reference-{ranks}-{files}-straight", ranks, files)
        self.note(again.run(time_max=WHOLE), WHOLE, again)
        for trial in (self.trial, going_on, again):
            trial.end(keep=trial is self.trial)

    def note(self, stage, time_max, trial):
        if stage.status != 0:
            raise SystemExit(f"a run without faults fails: {stage.out}{stage.err}")
        for path in glob.glob(trial.path("snapshot_*.hdf5")):
            self.snapshots.setdefault(os.path.basename(path), set()).add(digest(path))
        tables = {name: rows(trial.path(name), TABLES[name]) for name in TABLES}
        if self.tables.setdefault(time_max, tables) != tables:
            raise SystemExit("a run that goes on without faults differs from one from the beginning")


def reference(place, ranks, files):
    with place.lock:
        if (ranks, files) not in place.references:
            place.references[ranks, files] = Reference(place, ranks, files)
        return place.references[ranks, files]


def digest(path):
    """Of a snapshot, with the files that a virtual one refers to."""
    total = hashlib.sha256()
    number = os.path.basename(path)[9:12]
    for name in [path] + sorted(glob.glob(os.path.join(os.path.dirname(path), f"snapdir_{number}", "*"))):
        total.update(os.path.basename(name).encode() + b"\n" + content(name))
    return total.hexdigest()


def content(path):
    """Of a regular file; a FIFO would wait for a writer."""
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


def rows(path, without):
    """Rows of a table without the columns that clocks fill; a last row without an end has one more field, so it is no
    row."""
    lines = [line for line in content(path).decode("utf-8", "replace").splitlines(keepends=True)
             if not line.startswith("#")]
    table = [(line[:-1] if line.endswith("\n") else line + ",torn").split(",") for line in lines]
    keep = [k for k, name in enumerate(table[0]) if name not in without] if table else []
    return [[row[k] for k in keep if k < len(row)] + row[len(table[0]):] for row in table]


def first_line(text):
    lines = [line for line in text.splitlines() if line.startswith("espalier:")] or text.splitlines() or [""]
    return lines[0][:400]


def last_line(text):
    lines = [line for line in text.splitlines()
             if line.startswith("espalier:")] or [x for x in text.splitlines() if x.strip()] or [""]
    return lines[-1][:400]
