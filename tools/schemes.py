# SPDX-License-Identifier: GPL-3.0-or-later
"""compare-schemes: step lengths of the three schemes, and the matrix of models (--all): runs, tables, picture."""
import math
import os
import re
import subprocess
import tempfile

from models import M31_UNITS, from_file, named, write_models
from runs import Failed, Progress, Table, fail, seconds_within, unbeaten, warn

SCHEMES = "shared", "block", "hybrid"
MATRIX = "plummer14,plummer17,plummer20,plummer22,hernquist17,hernquist20,m31,merger,galaxies,cold,plummer17-1e-5"
COLUMNS = ["model", "particles", "softening", "time", "scheme", "label", "accuracy", "chosen", "error", "reported",
           "true", "seconds", "soft_steps", "h", "evaluations_full", "evaluations_hard", "parameters"]
# R1, xs, all xs
HYBRIDS = (1, 0.8, (0.48, 0.64, 0.8)), (1.25, 0.64,
                                        (0.48, 0.64, 0.8)), (2, 0.3, (0.2, 0.3, 0.4)), (3, 0.3, (0.2, 0.3, 0.4))


def hybrid(r1, xs, eta, others=()):
    return (f"R1 = {r1:g} R0, xs = {xs:g}, eta = {eta:g}",
            ["Split:Mode=hybrid", "Steps:Scheme=block", f"Split:R1OverR0={r1:g}", f"Split:xs={xs:g}",
             f"Split:ys={0.675 * xs:g}", f"Steps:Eta={eta:g}", *others])


def schemes(dh, few, criterion="min-av", scale=1.0):
    """(scheme, label, parameters, mean step in dh, about) of all runs of a model; dh: its step, scale: its eta_scale
    (models.py)."""
    for k in (4, 2, 1, 0.5) if few else (8, 4, 2, 1, 0.5):
        yield "shared", f"dt = {k:g} dh", ["Split:Mode=tree", "Steps:Scheme=shared",
                                           f"Steps:FixedStep={k * dh:.17g}"], k
    by_a = criterion == "a"
    others = ["Steps:Criterion=a"] if by_a else []
    for k in ((16, 64) if few else (4, 16, 64)) if by_a else (4, 8) if few else (4, 8, 16):
        for eta in ((1, 0.7, 0.5) if few else (1.4, 1, 0.7, 0.5,
                                               0.35)) if by_a else (2, 1.5, 1) if few else (3, 2, 1.5, 1, 0.7):
            parameters = ["Split:Mode=tree", "Steps:Scheme=block", f"Time:MaxSizeTimestep={k * dh:.17g}",
                          f"Steps:Eta={scale * eta:g}"]
            yield "block", f"longest {k} dh, eta = {scale * eta:g}", parameters + others, eta
    for r1, some, all_xs in HYBRIDS:
        for xs in (some,) if few else all_xs:
            for eta in (1, 0.7, 0.5) if by_a else (2, 1.5, 1):
                yield "hybrid", *hybrid(r1, xs, scale * eta, others), eta
    if scale > 1:   # tiny softening: by pairs too
        for r1, xs, _ in HYBRIDS[0], HYBRIDS[2]:
            for eta in (0.1, 0.05):
                label, parameters = hybrid(r1, xs, eta, ["Steps:Criterion=pairs"])
                yield "hybrid", label + ", by pairs", parameters, 0.5


def forces(text):
    """'1e-3,1e-4:2' to (label, parameters) of forces: Delta and the order of multipoles."""
    result = []
    for word in text.split(","):
        found = re.fullmatch(r"([0-9.e+-]+)(?::([12]))?", word)
        try:
            delta = float(found.group(1)) if found else 0
        except ValueError:
            delta = 0
        if not 0 < delta <= 1:
            fail(f"--forces: expected DELTA or DELTA:ORDER with 0 < DELTA <= 1 and the order 1 or 2, found '{word}'")
        order = found.group(2)
        result.append((f", Delta = {delta:g}" + (f", order {order}" if order else ""),
                       [f"Gravity:ErrTolForceAcc={delta:.17g}"]
                       + ([f"Gravity:MultipoleOrder={order}"] if order else [])))
    return result


def parameter(espalier, name):
    """SECTION:NAME of a parameter; None if this espalier does not have it."""
    section = None
    for line in subprocess.run([espalier, "params"], stdout=subprocess.PIPE, text=True).stdout.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif re.match(re.escape(name) + r" *=", line):
            return f"{section}:{name}"
    return None


def accuracies(espalier, text):
    """(accuracy, parameters) of the automatic runs: that by defaults, and those of a list."""
    known = parameter(espalier, "Accuracy")
    result = [("standard" if known else "default", [])]
    for word in text.split(",") if text else []:
        if not known:
            fail(f"--accuracy: {espalier} has no parameter Accuracy")
        if not word:
            fail(f"--accuracy: expected names or numbers with commas between them, found '{text}'")
        if word != result[0][0]:
            result.append((word, [f"{known}={word}"]))
    return result


def matrix(espalier, o):
    """The models that are asked for. A user's file is one only where it is given."""
    result = []
    for name in (o["--models"] or MATRIX).split(","):
        if name in ("m31", "galaxies"):
            files = o["--" + name]
            if not files and o["--models"]:
                fail(f"--models: {name} needs --{name} FILE with its particles")
            softening, units, criterion = (0.015625, M31_UNITS, "a") if name == "m31" else (0.4, {}, "min-av")
            labels = [f"{name}-{os.path.splitext(os.path.basename(path))[0]}" for path in files]
            if len(set(labels)) < len(labels):
                fail(f"--{name}: expected files of different names, found {', '.join(files)}")
            result += [from_file(label, path, units, softening, criterion, espalier)
                       for label, path in zip(labels, files)]
        else:
            result.append(named(name))
    chosen = [m for m in result if m.particles <= o["--largest"]]
    if not chosen:
        fail(f"--largest: no model has at most {o['--largest']:g} particles; the smallest has "
             f"{min(m.particles for m in result)}")
    return chosen


def runs_of(model, o, automatic):
    """(row, parameters, weight) of all runs of a model: those of schemes, with each of the forces, and the automatic
    ones."""
    base = dict(model=model.name, particles=model.particles, softening=model.softening, time=model.length(o["--time"]))
    steps = base["time"] / model.dynamical * model.particles
    for accuracy, parameters in automatic:
        yield dict(base, scheme="auto", label=accuracy, accuracy=accuracy), parameters, steps
    for label, force in o["--forces"] or [("", [])]:
        for scheme, what, parameters, step in schemes(model.step, o["--few"], model.criterion, model.eta_scale):
            yield dict(base, scheme=scheme, label=what + label, accuracy=""), parameters + force, steps / step


def comparison(rows):
    """For each automatic run: the seconds that each scheme needs for its error, the shortest of them, and its own over
    that."""
    result = []
    for auto in (r for r in rows if r["scheme"] == "auto"):
        seconds = {s: seconds_within([r for r in rows if r["scheme"] == s], auto["error"]) for s in SCHEMES}
        there = [t for t in seconds.values() if t is not None]
        best = min(there) if there else None
        result.append(dict(auto, seconds_of=seconds, best=best, ratio=auto["seconds"] / best if best else None))
    return result


def number(value, form=".3g"):
    return "-" if value is None else format(value, form)


def print_comparison(model, rows):
    print(f"\n{model.name}: {model.particles} particles, softening {model.softening:g}, time {rows[0]['time']:g}"
          if rows else f"\n{model.name}: no runs")
    if not any(r["scheme"] == "auto" for r in rows):
        return
    print("\n| accuracy | scheme | dE/E | reported | seconds | " + " | ".join(SCHEMES) + " | over the best |\n" + "|---"
          * (6 + len(SCHEMES)) + "|")
    for c in comparison(rows):
        print(f"| {c['accuracy']} | {c['chosen'] or '-'} | {c['error']:.2e} | {c['reported']:.2e} | {c['seconds']:.3g} "
              "| "
              + " | ".join(number(c["seconds_of"][s]) for s in SCHEMES) + f" | {number(c['ratio'], '.2f')} |",
              flush=True)


def print_summary(rows_of):
    every = [c for rows in rows_of.values() for c in comparison(rows)]
    print("\nSeconds per unit of time by default over those of the best scheme with the same error or a smaller one "
          "('-': no run has it):\n")
    names = list(dict.fromkeys(c["accuracy"] for c in every))
    print("| model | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 1) + "|")
    for model in rows_of:
        mine = {c["accuracy"]: c["ratio"] for c in every if c["model"] == model}
        print(f"| {model} | " + " | ".join(number(mine.get(name), ".2f") for name in names) + " |")


def panel(axis, rows, true):
    """Time against error: every run, lines through the unbeaten ones, a star for each automatic choice."""
    from plotting import COLOURS
    for scheme, colour, marker in zip(SCHEMES, COLOURS, "osD"):
        mine = [r for r in rows if r["scheme"] == scheme and r["error"] > 0 and r["seconds"] > 0]
        best = unbeaten(mine)
        axis.plot([r["error"] for r in best], [r["seconds"] for r in best], "-", color=colour, linewidth=1)
        axis.plot([r["error"] for r in mine], [r["seconds"] for r in mine], marker, color=colour, markersize=5,
                  linestyle="none", label=scheme)
    auto = [r for r in rows if r["scheme"] == "auto" and r["error"] > 0 and r["seconds"] > 0]
    if auto:
        axis.plot([r["error"] for r in auto], [r["seconds"] for r in auto], "*", color=COLOURS[6], markersize=11,
                  linestyle="none", label="automatic choice")
    for r in auto:
        axis.annotate(r["accuracy"] + (f": {r['chosen']}" if r["chosen"] else ""), (r["error"], r["seconds"]),
                      xytext=(5, 5), textcoords="offset points", fontsize=8)
    axis.set(xscale="log", yscale="log", xlabel=(r"true" if true else r"largest") + r" $|\Delta E / E_0|$",
             ylabel="seconds per unit of time")


def picture_of_all(path, models, rows_of):
    from plotting import legend_on_top, plt, save, shown
    drawn = [m for m in models if rows_of.get(m.name)]
    if not drawn:
        fail("--picture: no run has a result")
    columns = min(3, len(drawn))
    lines = math.ceil(len(drawn) / columns)
    figure, axes = plt.subplots(lines, columns, figsize=(4.6 * columns + 0.6, 3.8 * lines + 0.5), layout="constrained",
                                squeeze=False)
    flat = list(axes.flat)
    handles = {}
    for axis, model in zip(flat, drawn):
        rows = rows_of[model.name]
        panel(axis, rows, all(r["true"] is not None for r in rows))
        axis.set_title(shown(f"{model.name}, {model.particles} particles"))
        handles.update({label: handle for handle, label in zip(*axis.get_legend_handles_labels())})
    for axis in flat[len(drawn):]:
        axis.remove()
    legend_on_top(figure, [h for h in handles.values()], most=4)
    save(figure, [path])


def run_all(runner, espalier, o):
    """The matrix: every run that the table does not have yet, tables, picture. Exit status: 1 if a run failed."""
    models, automatic = matrix(espalier, o), accuracies(espalier, o["--accuracy"])
    table = Table(o["--table"], COLUMNS, o["--continue"])
    key = lambda row: {k: row[k] for k in ("model", "scheme", "label", "time")}
    todo = {m.name: [run for run in runs_of(m, o, automatic) if not table.find(key(run[0]))] for m in models}
    progress = Progress([(name, weight) for name, runs in todo.items() for _, _, weight in runs])
    true, failed, rows_of = runner.true, 0, {}
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            if todo[model.name]:
                write_models(runner, model, folder)
            runner.true = true if model.particles <= o["--true-largest"] else None
            for row, parameters, _ in todo[model.name]:
                try:
                    table.add(dict(row, parameters=" ".join(parameters), **runner.run(model, row["time"], parameters)))
                except Failed as problem:
                    failed += 1
                    warn(f"{model.name}, {row['scheme']}, {row['label']}: no result: {problem.reason()}")
                progress.step(f"{row['scheme']}, {row['label']}")
        rows_of[model.name] = [r for r in table.rows if r["model"] == model.name and r["time"]
                               == model.length(o["--time"])]
        print_comparison(model, rows_of[model.name])
    print_summary(rows_of)
    if o["--picture"]:
        picture_of_all(o["--picture"], models, rows_of)
    if failed:
        fail(f"{failed} runs have no result: see above" + (f"; the others are in {os.path.basename(o['--table'])}"
                                                           if o["--table"] else ""))
