#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Force error against time, from tables of 'espalier force --delta LIST -o': the median (solid) and the 99th percentile
(dashed) of the relative error of the acceleration. Several tables share one picture."""
import argparse
import os

from plotting import COLOURS, Table, fail, np, plt, save

NEEDED = ["delta", "median", "most99", "ms_walk", "ms_all"]


def name_of(table, paths):
    """The file's name; where all files have the same one, its folder too."""
    names = [os.path.basename(path) for path in paths]
    stem = os.path.splitext(os.path.basename(table.path))[0]
    return os.path.join(os.path.basename(os.path.dirname(table.path)), stem) if names.count(os.path.basename(table.path)) > 1 else stem


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", metavar="TABLE.csv", nargs="+", help="tables of 'espalier force --delta LIST -o'")
    parser.add_argument("--time", choices=["all", "walk"], default="all", help="of the whole force, or of the walk (default: %(default)s)")
    parser.add_argument("--targets", metavar="MEDIAN,MOST99", help="lines at an error level that is asked for")
    parser.add_argument("-o", "--output", default="force.png", help="image (default: %(default)s)")
    arguments = parser.parse_args()
    tables = [Table(path, NEEDED) for path in arguments.tables]
    levels = []
    if arguments.targets:
        try:
            levels = [float(word) for word in arguments.targets.split(",")]
        except ValueError:
            levels = []
        if len(levels) != 2:
            fail(f"--targets: expected two numbers with a comma between them, found '{arguments.targets}'")
    figure, axis = plt.subplots(figsize=(7.4, 5.4), layout="constrained")
    for number, table in enumerate(tables):
        rows = np.argsort(-table["delta"], kind="stable")
        time, colour = table[f"ms_{arguments.time}"][rows], COLOURS[number % len(COLOURS)]
        axis.plot(time, table["median"][rows], "o-", color=colour, markersize=3.5, label=name_of(table, arguments.tables))
        axis.plot(time, table["most99"][rows], "o--", color=colour, markersize=3.5)
    for level, line in zip(levels, ("-", "--")):
        axis.axhline(level, color="0.4", linestyle=line, linewidth=0.8)
    axis.plot([], [], "k-", label="median")
    axis.plot([], [], "k--", label="99 %")
    axis.set(xscale="log", yscale="log", xlabel="milliseconds, " + ("whole force" if arguments.time == "all" else "walk"),
             ylabel="relative error of the acceleration", title="force error against time")
    axis.legend()
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
