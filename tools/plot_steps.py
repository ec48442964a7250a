#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of a run: where the time goes (timers.csv), the soft step and the radius R2, interaction lists and block levels
(steps.csv)."""
import argparse
import os

from plotting import COLOURS, Table, Units, fail, np, plt, save

HATCHES = ["", "//", "..", "xx"]


def stack(axis, table, units):
    """Seconds of each phase, stacked, over the steps; many steps are averaged in bins."""
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
    for number, (name, height, part) in enumerate(rows):
        above = base + height
        axis.fill_between(ends, np.append(base, base[-1]), np.append(above, above[-1]), step="post", linewidth=0.3,
                          edgecolor="white", facecolor=COLOURS[number % len(COLOURS)], hatch=HATCHES[number // len(COLOURS) % 4],
                          label=f"{name} {100 * part:.0f} %")
        base = above
    handles, labels = axis.get_legend_handles_labels()
    axis.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5))
    axis.set(xlabel="soft step", ylabel="seconds per soft step", title="where the time goes", xlim=(ends[0], ends[-1]))
    axis.set_ylim(0, max(1.15 * np.quantile(base, 0.98), base.max() / 3))


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
        axis.step(table["time"], table["level_max"], where="post")
        axis.set(ylabel="deepest block level", title="block levels")
        axis.set_ylim(bottom=0)
    return bool(names)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", metavar="OUTPUTDIR", help="folder with steps.csv and timers.csv")
    parser.add_argument("-o", "--output", default="steps.png", help="image (default: %(default)s)")
    arguments = parser.parse_args()
    if not os.path.isdir(arguments.run):
        fail(f"{arguments.run} is not a folder")
    timers = Table(os.path.join(arguments.run, "timers.csv"), ["step", "time"])
    steps = Table(os.path.join(arguments.run, "steps.csv"), ["step", "time", "dt_soft", "R2", "level_max", "list_full", "list_hard"])
    units = steps.units

    figure = plt.figure(figsize=(12, 7.2), layout="constrained")
    grid = figure.add_gridspec(2, 4)
    stack(figure.add_subplot(grid[0, :]), timers, units)
    time, label = steps["time"], Units.label("time", units.time)
    panels = [figure.add_subplot(grid[1, i]) for i in range(4)]
    panels[0].plot(time, steps["dt_soft"])
    panels[0].set(title="soft step", ylabel=Units.label("$dt_s$", units.time), xlabel=label)
    panels[1].plot(time, steps["R2"], label="R2")
    if "R1" in steps:
        panels[1].plot(time, steps["R1"], "--", label="R1")
    panels[1].set(title="split radii", ylabel=Units.label("radius", units.length), xlabel=label)
    panels[1].legend()
    panels[2].plot(time, steps["list_full"], label="full")
    panels[2].plot(time, steps["list_hard"], "--", label="hard")
    panels[2].set(title="interactions per evaluation", ylabel="mean list length", xlabel=label)
    panels[2].legend()
    for panel in panels[:3]:
        panel.set_ylim(0, 1.1 * max(panel.dataLim.ymax, 1e-300))
    if not levels(panels[3], steps):
        panels[3].set_xlabel(label)
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
