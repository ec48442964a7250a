#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Force error against time, from tables of 'espalier force --delta LIST -o': the median (solid) and the 99th percentile
(dashed) of the relative error of the acceleration. Numbers at the points of a single table are Delta. Several tables
share one
picture."""
import argparse
import os

from plotting import (Help, Table, add_output, fail, legend_beside, line_colours, np, outputs, plt, program, save,
                      shown, start)

NEEDED = ["delta", "median", "most99", "ms_walk", "ms_all"]


def name_of(table, paths):
    """The file's name; where all files have the same one, its folder too."""
    names = [os.path.basename(path) for path in paths]
    stem = os.path.splitext(os.path.basename(table.path))[0]
    return (os.path.join(os.path.basename(os.path.dirname(table.path)), stem)
            if names.count(os.path.basename(table.path)) > 1 else stem)


def target_levels(text):
    try:
        levels = [float(word) for word in text.split(",")]
    except ValueError:
        levels = []
    if len(levels) != 2 or not all(level > 0 and np.isfinite(level) for level in levels):
        fail(f"--targets: expected two numbers above 0 with a comma between them, found '{text}'")
    return levels


def power_of_two(delta):
    power = np.log2(delta)
    return f"$2^{{{power:.0f}}}$" if abs(power - round(power)) < 1e-6 else f"{delta:.3g}"


def draw(tables, names, column, levels, paths):
    figure, axis = plt.subplots(figsize=(8.4, 5.4), layout="constrained")
    for table, name, colour in zip(tables, names, line_colours(len(tables))):
        rows = np.argsort(-table["delta"], kind="stable")
        time = table[column][rows]
        axis.plot(time, table["median"][rows], "o-", color=colour, markersize=3.5, label=name)
        axis.plot(time, table["most99"][rows], "o--", color=colour, markersize=3.5)
        for row, x in zip(rows, time):
            if len(tables) == 1 and table["delta"][row] > 0 and table["median"][row] > 0:
                axis.annotate(power_of_two(table["delta"][row]), (x, table["median"][row]), xytext=(4, 4),
                              textcoords="offset points", fontsize=8, color="0.35")
    for level, line, what in zip(levels, ("-", "--"), ("median", "99 %")):
        axis.axhline(level, color="0.4", linestyle=line, linewidth=0.8, label=f"asked for: {what}")
    axis.plot([], [], "k-", label="median")
    axis.plot([], [], "k--", label="99th percentile")
    axis.set(xscale="log", yscale="log", xlabel="milliseconds, " + ("whole force" if column == "ms_all" else "walk"),
             ylabel="relative error of the acceleration", title="force error against time")
    legend_beside(axis)
    save(figure, paths)


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    parser.add_argument("tables", metavar="TABLE.csv", nargs="+", help="tables of 'espalier force --delta LIST -o'")
    parser.add_argument("--time", choices=["all", "walk"], default="all",
                        help="of the whole force, or of the walk (default: %(default)s)")
    parser.add_argument("--targets", metavar="MEDIAN,MOST99", help="lines at an error level that is asked for")
    add_output(parser, "force.png")
    arguments = parser.parse_args()
    paths = outputs(arguments.output, "force.png")
    levels = target_levels(arguments.targets) if arguments.targets is not None else []
    tables = [Table(path, NEEDED) for path in arguments.tables]
    column = f"ms_{arguments.time}"
    for table in tables:
        if not (table[column] > 0).any() or not (table["median"] > 0).any():
            fail(f"{table.path} has no times or no errors above 0 (errors need 'espalier force --direct')")
    draw(tables, [shown(name_of(table, arguments.tables)) for table in tables], column, levels, paths)


if __name__ == "__main__":
    start(main)
