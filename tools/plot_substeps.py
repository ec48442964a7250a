#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block steps of a run (substeps.csv): time of each against its number, by the level of the longest steps that end
there, and
a table of means by level."""
import argparse
import os

from plotting import (COLOURS, Help, Table, add_output, area_style, fail, legend_beside, np, outputs, plt, program,
                      save, start, table_path)

PARTS = ["select", "rebuild", "moments", "walk", "correct"]
# phases with the same colours
PHASE = {"select": "let_select", "rebuild": "build", "moments": "moments", "walk": "walk", "correct": "correct"}
END = 2**30   # ticks of a soft step
SYNCHRONISATION = -1


def kinds(table):
    """The kind of each row: its level, or the synchronisation."""
    return np.where(table["tick"] >= END, SYNCHRONISATION, table["level"]).astype(int)


def name(kind):
    return "all" if kind == SYNCHRONISATION else str(kind)


def print_means(table, kind):
    print("milliseconds, means\nlevel   steps       active     groups  "
          + " ".join(f"{part:>9}" for part in PARTS + ["all"]))
    for k in [*np.unique(kind), None]:
        rows = kind == k if k is not None else kind == kind
        means = " ".join(f"{table[part][rows].mean():9.4f}" for part in PARTS + ["all"])
        print(f"{'every' if k is None else name(k):<5} {rows.sum():7d} {table['active'][rows].mean():12.1f} "
              f"{table['groups'][rows].mean():10.1f}  {means}")
    share = table["all"][kind == SYNCHRONISATION]
    if share.size:
        print(f"a step of all particles takes {share.mean() / table['all'].mean():.2f} times the mean")


def draw(table, kind, limits, paths):
    figure, (above, below) = plt.subplots(2, 1, figsize=(11, 7.2), layout="constrained", height_ratios=[3, 2])
    number = np.arange(len(kind))
    shown = np.unique(kind)
    drawn = (number >= limits[0]) & (number <= limits[1])
    for k in np.unique(kind[drawn]):   # the legend names what is to be seen
        rows = kind == k
        above.plot(number[rows], table["all"][rows], "o" if k == SYNCHRONISATION else ".",
                   markersize=6 if k == SYNCHRONISATION else 4,
                   color="black" if k == SYNCHRONISATION else COLOURS[k % 6], alpha=1 if k < 6 else 0.5,
                   label=f"{name(k)} ({table['active'][rows].mean():,.0f} active)")
    rebuilt = (table["rebuilt"] > 0) & (kind != SYNCHRONISATION)
    if (rebuilt & drawn).any():
        above.plot(number[rebuilt], table["all"][rebuilt], "x", color="grey", markersize=7, markeredgewidth=0.7,
                   label="tree rebuilt")
    above.axhline(table["all"].mean(), color="grey", linewidth=0.8, linestyle="--")
    above.set(yscale="log", xlabel="block step", ylabel="milliseconds of a block step", xlim=limits,
              title=f"time of a block step; mean {table['all'].mean():.3g} ms")
    legend_beside(above, title="level (mean of active particles)")
    base = np.zeros(len(shown))
    for part in PARTS:
        height = np.array([table[part][kind == k].mean() for k in shown])
        if height.max() > 0:
            below.bar(range(len(shown)), height, bottom=base, label=part, width=0.7, **area_style(PHASE[part]))
        base += height
    rest = np.array([table["all"][kind == k].mean() for k in shown]) - base
    if rest.max() > 0:
        below.bar(range(len(shown)), np.maximum(rest, 0), bottom=base, label="the rest", width=0.7,
                  **area_style("the rest"))
    below.set_xticks(range(len(shown)), [name(k) for k in shown])
    below.set(xlabel="level of the longest steps that end", ylabel="milliseconds, mean", title="parts, means by level")
    below.grid(axis="x", visible=False)
    handles, labels = below.get_legend_handles_labels()
    legend_beside(below, handles=handles[::-1], labels=labels[::-1])
    save(figure, paths)


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    parser.add_argument("run", metavar="OUTPUTDIR",
                        help="folder with substeps.csv (SubstepLog = on), or the table itself")
    add_output(parser, "substeps.png")
    parser.add_argument("--steps", metavar="FIRST,LAST", help="draw these block steps only")
    arguments = parser.parse_args()
    paths = outputs(arguments.output, "substeps.png")
    if os.path.isdir(arguments.run) and not os.path.exists(table_path(arguments.run, "substeps.csv")):
        fail(f"{table_path(arguments.run, 'substeps.csv')} is not there: a run writes it with SubstepLog = on in "
             "[Output]")
    table = Table(table_path(arguments.run, "substeps.csv"),
                  ["step", "tick", "level", "active", "groups", "rebuilt", *PARTS, "all"])
    kind, limits = kinds(table), (-0.5, len(table["all"]) - 0.5)
    if arguments.steps:
        try:
            limits = tuple(float(word) for word in arguments.steps.split(","))
            first, last = limits
            if not (np.isfinite(limits).all() and first < last):
                raise ValueError
        except ValueError:
            fail("--steps: two numbers with a comma between them, the smaller one first, were expected")
        if not max(0, np.ceil(first)) <= min(len(kind) - 1, np.floor(last)):   # no row between them
            fail(f"--steps: the table has the block steps 0 to {len(kind) - 1}, none from {first:g} to {last:g}")
    print_means(table, kind)
    draw(table, kind, limits, paths)


if __name__ == "__main__":
    start(main)
