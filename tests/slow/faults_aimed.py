# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that are aimed at: one call, or one file, at which runs have failed or might. `aimed` lists groups of
trials."""
import functools
import os

from fault_runs import FIRST, WHOLE, Trial, reference


def then_recover(trial):
    trial.judge_files()
    trial.recover()
    trial.judge_files(checkpoints=False)
    return trial


def under(place, name, ranks, files, plan, interrupted=False):
    """A run under a plan, and what follows."""
    trial = Trial(place, name, ranks, files)
    stage = trial.run(plan=plan)
    trial.judge(stage, FIRST, interrupted=interrupted and trial.status_file() == "interrupted")
    return then_recover(trial)


def status_lost(place, name, ranks, plan):
    """The status file cannot be replaced: it is written over in place; or the run says so, and ends with exit status
    1."""
    trial = Trial(place, name, ranks, 1)
    stage = trial.run(plan=plan)
    trial.judge(stage, FIRST)
    written_over = stage.status == 0 and trial.status_file() == "finished"
    if not trial.wrong and not written_over and (stage.status != 1 or not stage.told("status")):
        trial.fail("untold", f"exit status {stage.status}, and standard error does not speak of the status file")
    return then_recover(trial)


def killed(place, name, ranks, files, plan):
    """A run that is killed at a call: all that has a good name is good, and a restart comes to the same bits."""
    trial = Trial(place, name, ranks, files)
    stage = trial.run(plan=plan)
    if stage.status is None:
        trial.judge_end(stage)
    return then_recover(trial)


def with_fifo(place, name, ranks, path, plan="", restart=False):
    """A FIFO in place of a file; of one that is there, which is put back later. The run may refuse, or do without; it
    must not wait."""
    trial = Trial(place, name, ranks, 1)
    if restart:
        trial.copy_of(reference(place, ranks, 1).trial)
    target, kept = trial.path(path), os.path.join(trial.folder, "kept")
    if not plan:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.exists(target):
            os.rename(target, kept)
        os.mkfifo(target)
    time_max = WHOLE if restart else FIRST
    stage = trial.run(*(("-r", "last") if restart else ()), plan=plan, do=f"mkfifo '{target}'", time_max=time_max)
    trial.judge(stage, time_max)
    if os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target):
        os.unlink(target)
    if os.path.exists(kept) and os.path.isdir(os.path.dirname(target)) and not os.path.exists(target):
        os.rename(kept, target)
    return then_recover(trial)


def zero_end(path):
    """As a file system may leave it after a power failure."""
    with open(path, "r+b") as table:
        table.seek(-1500, os.SEEK_END)
        table.write(bytes(1500))


def damaged_table(place, name, plan="", do=None):
    """A table that is not what was written: a restart says so."""
    trial = Trial(place, name, 1, 1)
    trial.judge_end(trial.run(plan=plan))
    if do:
        do(trial.path("energy.csv"))
    return then_recover(trial)


def vanish(place, name, ranks, do, at="snapshot_001", after=None):
    """A folder or file goes away while the run goes on: the run says so, and ends with exit status 1, or loses
    nothing."""
    trial = Trial(place, name, ranks, 1)
    stage = trial.run(plan=f"calls=open path=*{at}* rank=0 at=1 modes=do", do=do.format(espalier=place.espalier))
    trial.judge_end(stage)
    restored = after == "table" and stage.told("has been written again") and os.path.exists(trial.path("energy.csv"))
    if not trial.wrong and not restored and (stage.status != 1 or not stage.told("espalier:")):
        trial.fail("untold-vanished",
                   f"exit status {stage.status} after '{do}'; standard error: {stage.err.strip()[:300] or 'empty'}")
    if after == "checkpoint":
        places = [os.path.join(path, d) for path, folders, _ in os.walk(trial.folder) for d in folders
                  if d.startswith("checkpoint_")]
        if not [p for p in places if os.path.exists(os.path.join(p, "manifest"))]:
            trial.fail("vanished-checkpoint", f"after '{do}' no checkpoint is left, in no folder")
    return trial


def first_run_in(place, name, ranks):
    """The lock is removed, and a second run with --overwrite enters the folder: one of the two must end with exit
    status 1."""
    trial = Trial(place, name, ranks, 1)
    second = "rm -f out/lock; '{espalier}' run --overwrite ../run.ini > second 2>&1; echo $? > second.status"
    stage = trial.run(plan="calls=open path=*snapshot_001* rank=0 at=1 modes=do",
                      do=second.format(espalier=place.espalier))
    trial.judge_end(stage)
    with open(os.path.join(trial.folder, "second.status")) as status:
        other = int(status.read())
    if not trial.wrong and stage.status == 0 and other == 0:
        trial.fail("untold-vanished", "two runs in one folder, and both end with exit status 0")
    if other not in (0, 1):
        trial.fail("crash", f"the second run: exit status {other}")
    return trial


def writes(place):
    """Successive writes that fail within one snapshot, in its layout and in its rows."""
    for ranks, files in ((1, 1), (2, 1), (1, 2), (2, 2)):
        for at, run, mode in ((1, 2, "EIO"), (3, 2, "EDQUOT"), (5, 2, "EIO"), (7, 3, "ENOSPC")):
            name = f"writes-{ranks}-{files}-{at}"
            plan = f"calls=pwrite,write path=*snapshot_001* at={at} run={run} modes={mode}"
            yield name, functools.partial(under, place, name, ranks, files, plan)
    for ranks in (1, 2):
        name = f"writes-stop-{ranks}"
        plan = ("calls=write path=steps.csv rank=0 at=3 modes=USR1; calls=pwrite,write path=*snapshot_001* at=4 run=2 "
                "modes=EIO")
        yield name, functools.partial(under, place, name, ranks, 1, plan, interrupted=True)
        name = f"writes-last-{ranks}"
        yield name, functools.partial(under, place, name, ranks, 1,
                                      "calls=pwrite,write path=*snapshot_004* at=3 run=1000 modes=EIO")


def drops(place):
    """One write of a snapshot that reports success and is not done."""
    for ranks, files, most in ((1, 1, 12), (2, 1, 9), (2, 2, 11)):
        for at in range(1, most, 1 if ranks == 1 else 2):
            name = f"drops-{ranks}-{files}-{at}"
            yield name, functools.partial(under, place, name, ranks, files,
                                          f"calls=pwrite,write path=*snap*_001* at={at} modes=drop")


def status(place):
    """The status file cannot be replaced."""
    for ranks, call, path in ((1, "rename", "status*"), (2, "rename", "status*"), (1, "write", "status.tmp"),
                              (1, "close", "status.tmp"), (1, "open", "status.tmp")):
        name = f"status-{ranks}-{call}"
        yield name, functools.partial(status_lost, place, name, ranks, f"calls={call} path={path} from=4 modes=EIO")
    for ranks in (1, 2):   # which is not there
        name = f"status-cont-{ranks}"
        yield name, functools.partial(status_lost, place, name, ranks, "calls=unlink path=cont modes=ENOSPC")


def full(place):
    """The disk of results is full, and the one of checkpoints is not; the run is stopped, or comes to its end."""
    for ranks in (1, 2):
        for files in (1, 2):
            plan = "calls=pwrite,write path=*snap* from=20 modes=ENOSPC; calls=write path=*.csv from=12 modes=ENOSPC"
            name = f"full-stop-{ranks}-{files}"
            stop = "calls=fsync path=*checkpoint_000005.tmp/rank_00000 rank=0 at=1 modes=USR1; "
            yield name, functools.partial(under, place, name, ranks, files, stop + plan, interrupted=True)
            name = f"full-end-{ranks}-{files}"
            yield name, functools.partial(under, place, name, ranks, files, plan)


def tables(place):
    """Tables whose rows are not written, for a time or to the end."""
    for ranks, table, call, mode in ((1, "energy.csv", "write", "EIO"), (2, "steps.csv", "write", "EDQUOT"),
                                     (1, "energy.csv", "close", "EIO"), (2, "energy.csv", "fsync", "EIO"),
                                     (1, "substeps.csv", "write", "short,EIO")):
        name = f"tables-{ranks}-{table}-{call}"
        yield name, functools.partial(under, place, name, ranks, 1, f"calls={call} path={table} from=4 modes={mode}")
        name = f"tables-while-{ranks}-{table}-{call}"
        yield name, functools.partial(under, place, name, ranks, 1,
                                      f"calls={call} path={table} at=3 run=3 modes={mode}")


    name = "tables-dropped"
    yield name, functools.partial(damaged_table, place, name, plan="calls=write path=energy.csv at=3 modes=drop")
    for label, do in (("removed", os.unlink), ("cut", lambda path: os.truncate(path, os.path.getsize(path) - 300)),
                      ("zeroed", zero_end)):
        name = f"tables-{label}"
        yield name, functools.partial(damaged_table, place, name, do=do)


def fifos(place):
    for path in ("status.tmp", "status", "cont", "lock", "energy.csv", "steps.csv", "timers.csv", "parameters-used.ini",
                 "stop", "checkpoint", "checkpoints", "snapshot_001.hdf5", "snapshot_001.hdf5.tmp"):
        name = f"fifo-{path}"
        yield name, functools.partial(with_fifo, place, name, 1, path)
    for ranks, path in ((1, "rank_00000"), (1, "manifest"), (2, "rank_00001")):
        name = f"fifo-written-{ranks}-{path}"
        target = f"checkpoints/checkpoint_000002.tmp/{path}"
        yield name, functools.partial(with_fifo, place, name, ranks, target,
                                      plan=f"calls=open path=*2.tmp/{path} at=1 modes=do")
    last = "checkpoints/checkpoint_000008/"
    for ranks, path in ((1, last + "manifest"), (1, last + "rank_00000"), (2, last + "rank_00001"), (1, "status"),
                        (1, "energy.csv"), (1, "substeps.csv"), (1, "lock")):
        name = f"fifo-restart-{ranks}-{path.replace('/', '-')}"
        yield name, functools.partial(with_fifo, place, name, ranks, path, restart=True)


def vanished(place):
    for ranks in (1, 2):
        for label, do, after in (("removed", "rm -rf out", None), ("renamed", "mv out moved", "checkpoint"),
                                 ("replaced", "mv out moved; mkdir out", "checkpoint"),
                                 ("lock", "rm out/lock", "checkpoint"), ("table", "rm out/energy.csv", "table")):
            name = f"vanish-{label}-{ranks}"
            yield name, functools.partial(vanish, place, name, ranks, do, after=after)
        name = f"vanish-second-{ranks}"
        yield name, functools.partial(first_run_in, place, name, ranks)


def kills(place):
    """SIGKILL at a call that changes names or flushes."""
    for k, at in enumerate((1, 2, 5, 9, 14, 20, 27, 35, 44, 54, 65, 77)):
        ranks, files = (1, 2, 1, 3)[k % 4], (1, 1, 2, 2)[k % 4]
        name = f"kill-{ranks}-{files}-{at}"
        plan = f"calls=rename,mkdir,unlink,fsync,truncate at={at} modes=KILL rank=0"
        yield name, functools.partial(killed, place, name, ranks, files, plan)
    for at in (1, 2, 3, 4):   # while an old checkpoint is removed
        name = f"kill-drop-{at}"
        yield name, functools.partial(killed, place, name, 1 + at // 4, 1,
                                      f"calls=unlink path=checkpoints/* at={at} modes=KILL rank=0")


def aimed(place):
    """(text, [(name, trial)]) for each group."""
    return [("successive writes of a snapshot fail", list(writes(place))),
            ("a write of a snapshot is dropped", list(drops(place))),
            ("the status file cannot be replaced", list(status(place))),
            ("the disk is full, but not for checkpoints", list(full(place))),
            ("tables cannot be written", list(tables(place))), ("FIFOs in place of files", list(fifos(place))),
            ("the folder, the lock or a table vanishes", list(vanished(place))),
            ("killed at a call", list(kills(place)))]
