#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of a run: where the time goes (timers.csv), the soft step and the radius R2, interaction lists and block levels
(steps.csv)."""
import argparse
import os

from plotting import (COLOURS, Help, Table, Units, add_output, area_style, fail, legend_above, legend_beside, np,
                      outputs, plt, program, save, shown, start)
from unit_systems import add_units

# what phases are called without a split
OF_BLOCK_STEPS = {"hard_walk": "walk of substeps", "hard_let": "LETs of substeps"}


def stack(axis, table, split=True):
    """Seconds of each phase, stacked, over the steps; many steps are averaged in bins. split: hard forces are those of
    the split; where most steps have none, walks of substeps are of block steps."""
    phases = [name for name in table.names if name not in ("step", "time", "total", "seconds")]
    if not phases:
        fail(f"{table.path} has no column of seconds beside 'step' and 'time'")
    values = np.stack([table[name] for name in phases])
    edges = np.unique(np.linspace(0, values.shape[1], min(values.shape[1], 120) + 1).astype(int))
    widths = np.diff(edges)
    mean = np.add.reduceat(values, edges[:-1], axis=1) / widths
    share = values.sum(axis=1) / max(values.sum(), 1e-300)
    kept = [i for i in np.argsort(-share) if share[i] >= 0.01]
    rest = [i for i in range(len(phases)) if i not in kept]
    rows = [(phases[i], mean[i], share[i]) for i in kept]
    if rest and share[rest].sum() > 0:
        rows.append(("the rest", mean[rest].sum(axis=0), share[rest].sum()))
    step = table["step"]
    ends = np.append(step[edges[:-1]], step[-1] + 1)
    base = np.zeros(len(widths))
    for name, height, part in rows:
        above = base + height
        axis.fill_between(ends, np.append(base, base[-1]), np.append(above, above[-1]), step="post", linewidth=0.3,
                          edgecolor="white", label=f"{label_of(name, split)} {percent(part)}", **area_style(name))
        base = above
    handles, labels = axis.get_legend_handles_labels()
    legend_beside(axis, handles=handles[::-1], labels=labels[::-1])
    top = max(1.15 * np.quantile(base, 0.98), base.max() / 3, 1e-300)
    title = "where the time goes" + (f" (cut off above; the highest is {base.max():.2g} s)" if base.max() > top else "")
    axis.set(xlabel="soft step", ylabel="seconds of a soft step", title=title, xlim=(ends[0], ends[-1]), ylim=(0, top))


def label_of(phase, split):
    return phase if split else OF_BLOCK_STEPS.get(phase, phase)


def percent(part):
    return f"{100 * part:.0f} %" if part >= 0.005 else "< 1 %"


def levels(axis, table):
    """Share of the particles on each block level, over the run."""
    names = sorted((n for n in table.names if n.startswith("level_") and n[6:].isdigit()), key=lambda n: int(n[6:]))
    if names:
        counts = np.stack([table[name] for name in names])
        share = counts.sum(axis=1) / max(counts.sum(), 1)
        deepest = int(np.nonzero(share)[0].max()) + 1 if (share > 0).any() else 1
        share, number = share[:deepest], [int(name[6:]) for name in names[:deepest]]
        axis.bar(number, share, color=COLOURS[0], width=0.8)
        axis.set_yscale("log")
        axis.set_ylim(max(share[share > 0].min() / 3, 1e-8) if (share > 0).any() else 1e-3, 1.5)
        axis.set_xticks(number)
        axis.set(xlabel="level (step = soft step / $2^{level}$)", ylabel="share of the particles", title="block levels")
    else:
        axis.step(table["time"] * table.units.time_size, table["level_max"], where="post")
        axis.set(ylabel="deepest block level", title="block levels")
        axis.set_ylim(bottom=0)
    return bool(names)


def radii(axis, steps, time):
    axis.plot(time, steps["R2"], label="R2")
    if "R1" in steps:
        axis.plot(time, steps["R1"], "--", label="R1")
    legend_above(axis)


def draw(timers, steps, name, paths):
    units = steps.units
    figure = plt.figure(figsize=(13, 7.4), layout="constrained")
    figure.suptitle(shown(name) + (f": {timers.made_by}" if timers.made_by else ""), x=0.01, ha="left")
    split = np.mean(steps["R2"] > 0) >= 0.5   # radii of a few trials at the start are no curve
    count = 4 if split else 3
    grid = figure.add_gridspec(2, count)
    stack(figure.add_subplot(grid[0, :]), timers, split)
    time, label = steps["time"] * units.time_size, Units.label("time", units.time_unit)
    panels = [figure.add_subplot(grid[1, i]) for i in range(count)]
    steps_of, lists, last = panels[0], panels[-2], panels[-1]
    steps_of.plot(time, steps["dt_soft"] * units.time_size)
    steps_of.set(title="soft step", ylabel=Units.label("length of the soft step", units.time_unit), xlabel=label)
    if split:
        radii(panels[1], steps, time)
        panels[1].set(title="split radii", ylabel=Units.label("radius", units.length), xlabel=label)
    lists.plot(time, steps["list_full"], label="full")
    hard = np.where(steps["list_hard"] > 0, steps["list_hard"], np.nan)   # none in a step without substeps
    lists.plot(time, hard, "--", label="hard" if split else "substeps")
    lists.set(title="lists", ylabel="interactions of an evaluation, mean", xlabel=label)
    legend_above(lists)
    for panel in panels[:-1]:
        panel.set_ylim(0, 1.1 * panel.dataLim.ymax if np.isfinite(panel.dataLim.ymax) and panel.dataLim.ymax > 0 else 1)
    if not levels(last, steps):
        last.set_xlabel(label)
    save(figure, paths)


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    parser.add_argument("run", metavar="OUTPUTDIR", help="folder with steps.csv and timers.csv")
    add_output(parser, "steps.png")
    add_units(parser)
    arguments = parser.parse_args()
    paths = outputs(arguments.output, "steps.png")
    if not os.path.isdir(arguments.run):
        fail(f"{arguments.run} is not a folder" if os.path.exists(arguments.run) else f"{arguments.run} is not there")
    timers = Table(os.path.join(arguments.run, "timers.csv"), ["step", "time"])
    steps = Table(os.path.join(arguments.run, "steps.csv"),
                  ["step", "time", "dt_soft", "R2", "level_max", "list_full", "list_hard"])
    draw(timers, steps, os.path.basename(os.path.abspath(arguments.run)), paths)


if __name__ == "__main__":
    start(main)
