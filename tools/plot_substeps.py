#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block steps of a run (substeps.csv): time of each against its number, by the level of the longest steps that end there, and
a table of means by level."""
import argparse

from plotting import COLOURS, Table, fail, np, plt, save, table_path

PARTS = ["select", "rebuild", "moments", "walk", "correct"]
END = 2**30   # ticks of a soft step
SYNCHRONISATION = -1


def kinds(table):
    """The kind of each row: its level, or the synchronisation."""
    return np.where(table["tick"] >= END, SYNCHRONISATION, table["level"]).astype(int)


def name(kind):
    return "all" if kind == SYNCHRONISATION else str(kind)


def print_means(table, kind):
    print("milliseconds, means\nlevel   steps       active     groups  " + " ".join(f"{part:>9}" for part in PARTS + ["all"]))
    for k in [*np.unique(kind), None]:
        rows = kind == k if k is not None else kind == kind
        means = " ".join(f"{table[part][rows].mean():9.4f}" for part in PARTS + ["all"])
        print(f"{'every' if k is None else name(k):<5} {rows.sum():7d} {table['active'][rows].mean():12.1f} {table['groups'][rows].mean():10.1f}  {means}")
    share = table["all"][kind == SYNCHRONISATION]
    if share.size:
        print(f"a step of all particles takes {share.mean() / table['all'].mean():.2f} times the mean")


def draw(table, kind, limits, path):
    figure, (above, below) = plt.subplots(2, 1, figsize=(11, 7.2), layout="constrained", height_ratios=[3, 2])
    number = np.arange(len(kind))
    shown = np.unique(kind)
    for k in shown:
        rows = kind == k
        above.plot(number[rows], table["all"][rows], "o" if k == SYNCHRONISATION else ".", markersize=6 if k == SYNCHRONISATION else 4,
                   color="black" if k == SYNCHRONISATION else COLOURS[k % 6], alpha=1 if k < 6 else 0.5,
                   label=f"{name(k)} ({table['active'][rows].mean():.3g} active)")
    rebuilt = (table["rebuilt"] > 0) & (kind != SYNCHRONISATION)
    above.plot(number[rebuilt], table["all"][rebuilt], "x", color="grey", markersize=7, markeredgewidth=0.7, label="the tree anew")
    above.axhline(table["all"].mean(), color="grey", linewidth=0.8, linestyle="--")
    above.set(yscale="log", xlabel="block step", ylabel="ms", title=f"time of a block step; mean {table['all'].mean():.3g} ms", xlim=limits)
    above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="level")
    base = np.zeros(len(shown))
    for colour, part in zip(COLOURS, PARTS):
        height = np.array([table[part][kind == k].mean() for k in shown])
        below.bar(range(len(shown)), height, bottom=base, color=colour, label=part, width=0.7)
        base += height
    rest = np.array([table["all"][kind == k].mean() for k in shown]) - base
    below.bar(range(len(shown)), np.maximum(rest, 0), bottom=base, color="lightgrey", label="the rest", width=0.7)
    below.set_xticks(range(len(shown)), [name(k) for k in shown])
    below.set(xlabel="level of the longest steps that end", ylabel="ms", title="parts, means by level")
    below.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", metavar="OUTPUTDIR", help="folder with substeps.csv (SubstepLog = on), or the table itself")
    parser.add_argument("-o", "--output", default="substeps.png", help="image (default: %(default)s)")
    parser.add_argument("--steps", metavar="FIRST,LAST", help="draw these block steps only")
    arguments = parser.parse_args()
    table = Table(table_path(arguments.run, "substeps.csv"), ["step", "tick", "level", "active", "groups", "rebuilt", *PARTS, "all"])
    kind, limits = kinds(table), (-0.5, len(table["all"]) - 0.5)
    if arguments.steps:
        try:
            limits = tuple(float(word) for word in arguments.steps.split(","))
            first, last = limits
            if not (np.isfinite(limits).all() and first < last):
                raise ValueError
        except ValueError:
            fail("--steps: two numbers with a comma between them, the smaller one first, were expected")
    print_means(table, kind)
    draw(table, kind, limits, arguments.output)


if __name__ == "__main__":
    main()
