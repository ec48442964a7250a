# SPDX-License-Identifier: GPL-3.0-or-later
"""faults.py ESPALIER SHIM FOLDER: runs on a disk that fails; TAP. faults.sh starts it, and says what the environment
may set."""
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor

from fault_runs import FIRST, WHOLE, Place, Trial, reference
from faults_aimed import aimed

CALLS = ["write", "pwrite", "fsync", "rename", "close", "open", "truncate", "allocate", "mkdir", "unlink"]
# What a disk may drop unseen, as each file here is read back before it gets its name.
VERIFIED = ["*snap*", "checkpoints/*"]


def number(name, default):
    return int(os.environ.get(name) or default)


def random_plan(dice, seed):
    """Rules of faults that come together: which calls fail, where, how often, how many in a row."""
    path = dice.choice(["*", "*", "*snap*", "checkpoints*", "*.csv", "status*"])
    p, first = dice.choice([0.01, 0.02, 0.05, 0.1, 0.5]), dice.choice([1, 1, 1, 20, 60])
    if path in ("*.csv", "status*"):   # of which there are few
        p, first = min(10 * p, 1), first // 10 + 1
    how = (f"p={p} run={dice.choice([1, 1, 2, 3, 8, 1000])} from={first} most={dice.choice([1, 3, 8, 100000])} "
           f"seed={seed}")
    if dice.random() < 0.25:
        how += f" rank={dice.choice([0, 1])}"
    if dice.random() < 0.2:
        return "; ".join(f"calls=write,pwrite,fsync path={path} modes=drop,short {how}" for path in VERIFIED)
    calls = CALLS if dice.random() < 0.5 else dice.sample(CALLS, dice.choice([1, 2]))
    modes = dice.choice(["EIO", "ENOSPC", "EDQUOT", "short,EIO,ENOSPC,EDQUOT"])
    return f"calls={','.join(calls)} path={path} modes={modes} {how}"


def random_trial(place, name, ranks, files, seed):
    """A run, an interrupted run, or one that is gone on with, under random faults; then a restart without faults."""
    dice = random.Random(seed)
    trial = Trial(place, name, ranks, files)
    plan, kind = random_plan(dice, seed), dice.choice(["run", "run", "run", "interrupted", "restart", "earlier"])
    if kind == "run":
        trial.judge(trial.run(plan=plan), FIRST)
    elif kind == "interrupted":
        stop = f"calls=write path=steps.csv rank=0 at={dice.randint(2, 7)} modes=USR1; "
        stage = trial.run(plan=stop + plan)
        trial.judge(stage, FIRST, interrupted=trial.status_file() == "interrupted" and stage.status == 0)
    else:
        trial.copy_of(reference(place, ranks, files).trial)
        # the newest checkpoint is gone: results later than the last one stay until they are replaced
        if kind == "earlier":
            os.rename(trial.checkpoints()[-1], trial.path("checkpoints", "away"))
        trial.judge(trial.run("-r", "last", plan=plan, time_max=WHOLE), WHOLE)
    trial.judge_files()
    trial.recover()
    trial.judge_files(checkpoints=False)
    return trial


def report(text, trials, number_of):
    """A line of TAP for a group, and what is wrong with its trials."""
    bad = [t for t in trials if t.wrong]
    faults = sum(len(s.faults) for t in trials for s in t.stages)
    print(f"{'not ok' if bad else 'ok'} {number_of} - {text}: {len(trials)} trial{'s' * (len(trials) != 1)}, {faults} "
          "faults"
          + (f"; {len(bad)} wrong" if bad else ""))
    for trial in bad:
        print(f"#   {trial.folder}")
        for kind, what in trial.wrong:
            print(f"#     {kind}: {what}")
    sys.stdout.flush()


def finish(trial):
    trial.end(keep=trial.wrong or os.environ.get("ESPALIER_FAULT_KEEP"))
    return trial


def main():
    espalier, shim, folder = sys.argv[1:]
    place = Place(espalier, os.path.realpath(folder), shim, number("ESPALIER_FAULT_SECONDS", 180))
    trials, seed = number("ESPALIER_FAULTS", 100), number("ESPALIER_FAULT_SEED", 1)
    only = os.environ.get("ESPALIER_FAULT_ONLY", "")
    groups = [(ranks, files) for ranks in (1, 2, 3) for files in (1, 2)]
    shares = [trials * s // 100 for s in (25, 15, 25, 15, 12)]
    shares.append(trials - sum(shares))
    all_trials, lines = [], 0
    with ThreadPoolExecutor(number("ESPALIER_FAULT_LANES", 2)) as lanes:
        pending = []
        for (ranks, files), share in zip(groups, shares):
            text = f"random faults, {ranks} rank{'s' * (ranks > 1)}, {'several files' if files > 1 else 'single file'}"
            first = seed * 100000 + ranks * 10000 + files * 1000
            names = [(f"random-{ranks}-{files}-{first + k}", first + k) for k in range(share)]
            pending.append((text,
                            [lanes.submit(lambda n=n, r=ranks, f=files, s=s: finish(random_trial(place, n, r, f, s)))
                                   for n, s in names if n.startswith(only)]))
        for text, tries in aimed(place):
            pending.append((text,
                            [lanes.submit(lambda t=t: finish(t())) for name, t in tries if name.startswith(only)]))
        pending = [(text, tries) for text, tries in pending if tries]
        print(f"1..{len(pending)}")
        for text, tries in pending:
            lines += 1
            done = [t.result() for t in tries]
            report(text, done, lines)
            all_trials += done
    kinds = {}
    for trial in all_trials:
        for kind in {k for k, _ in trial.wrong}:
            kinds[kind] = kinds.get(kind, 0) + 1
    print(f"# {len(all_trials)} trials, {sum(1 for t in all_trials if any(s.faults for s in t.stages))} of them with "
          f"faults, {sum(1 for t in all_trials if t.wrong)} wrong; by kind: "
          + (", ".join(f"{k} {n}" for k, n in sorted(kinds.items())) or "none"))
    sys.exit(1 if kinds else 0)


if __name__ == "__main__":
    main()
