#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Predicted times against the number of ranks, from tables of 'espalier study time -o': seconds of a unit of simulated
time, efficiency, and for each scheme of the first table the parts of its soft step. Open marks are numbers of ranks
that laws predict."""
import argparse

from plotting import (AREAS, REST, Help, Table, add_output, fail, line_colours, np, outputs, plt, program, ranks_axis,
                      save, shown, start)

WORDS = ("machine", "scheme", "by")
# The phases of the event model, in the order in which they are drawn; those that runs have too have the same colours.
PARTS = dict(zip(["walk", "hard_walk", "let_select", "hard_let", "tree", "step", "migration", "collective", "wait"],
                 AREAS + ["0.35", REST]))
NEEDED = ["ranks", "per_rank", "soft_step_seconds", "unit_seconds"] + [f"{part}_critical" for part in PARTS]


class Curve:
    """The rows of one table with one machine and one scheme, ascending in P."""

    def __init__(self, table, machine, scheme, label):
        rows = np.nonzero((table.words["machine"] == machine) & (table.words["scheme"] == scheme))[0]
        self.rows = rows[np.argsort(table["ranks"][rows], kind="stable")]
        self.table, self.machine, self.scheme, self.label = table, machine, scheme, label

    def __getitem__(self, name):
        return self.table[name][self.rows]

    def counted(self):
        return self.table.words["by"][self.rows] == "count"


def curves_of(paths):
    tables = [Table(path, NEEDED, words=WORDS) for path in paths]
    for table in tables:
        for word in WORDS:
            if word not in table:
                fail(f"{table.path} has no column '{word}'")
    several = len({machine for table in tables for machine in table.words["machine"]}) > 1
    curves = []
    for table in tables:
        for machine in dict.fromkeys(table.words["machine"]):
            for scheme in dict.fromkeys(table.words["scheme"][table.words["machine"] == machine]):
                curves.append(Curve(table, machine, scheme, f"{scheme}, {shown(machine)}" if several else scheme))
    return curves


def weak(curve):
    """Whether all numbers of ranks have the same number of particles a rank."""
    return len(curve.rows) > 1 and np.ptp(curve["per_rank"]) < 1e-6 * curve["per_rank"][0]


def line(axis, curve, values, colour):
    counted = curve.counted()
    axis.plot(curve["ranks"], values, "-", color=colour, label=curve.label)
    axis.plot(curve["ranks"][counted], values[counted], "o", color=colour, markersize=5)
    axis.plot(curve["ranks"][~counted], values[~counted], "o", color=colour, markersize=5, markerfacecolor="white")


def times(axis, curves):
    for curve, colour in zip(curves, line_colours(len(curves))):
        line(axis, curve, curve["unit_seconds"], colour)
    axis.set_yscale("log")
    axis.set(title="a unit of simulated time", ylabel="seconds")
    axis.legend(fontsize=8)


def efficiencies(axis, curves):
    for curve, colour in zip(curves, line_colours(len(curves))):
        seconds = curve["unit_seconds"] * (1 if weak(curve) else curve["ranks"] / curve["ranks"][0])
        line(axis, curve, seconds[0] / seconds, colour)
    axis.axhline(1, color="0.4", linestyle=":", linewidth=1)
    axis.set_ylim(bottom=0)
    axis.set(title="efficiency", ylabel="of that of the fewest ranks")


def parts(axis, curve, first):
    """Shares of the soft step, one above the other, over equal steps of the list of P."""
    at, below = np.arange(len(curve.rows)), np.zeros(len(curve.rows))
    for part, colour in PARTS.items():
        share = curve[f"{part}_critical"] / curve["soft_step_seconds"]
        axis.bar(at, share, 0.8, bottom=below, color=colour, label=part)
        below += share
    axis.set_xticks(at, [f"{ranks:.0f}" for ranks in curve["ranks"]], rotation=90 if curve["ranks"].max() > 9999 else 0)
    axis.set(title=f"parts of the soft step, {curve.label}", xlabel="ranks P")
    axis.set_ylim(0, 1)
    if first:
        axis.set_ylabel("share of the soft step")


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    parser.add_argument("tables", metavar="TABLE.csv", nargs="+", help="tables of 'espalier study time -o'")
    add_output(parser, "time.png")
    arguments = parser.parse_args()
    paths = outputs(arguments.output, "time.png")
    curves = curves_of(arguments.tables)
    own = [curve for curve in curves if curve.table is curves[0].table and curve.machine == curves[0].machine]
    figure = plt.figure(figsize=(5 * max(len(own), 2), 9), layout="constrained")
    upper, lower = figure.subfigures(2, 1)
    top, bottom = upper.subplots(1, 2), np.atleast_1d(lower.subplots(1, len(own), sharey=True))
    times(top[0], curves)
    efficiencies(top[1], curves)
    for axis in top:
        ranks_axis(axis, max(curve["ranks"].max() for curve in curves))
    for axis, curve in zip(bottom, own):
        parts(axis, curve, axis is bottom[0])
    handles, labels = bottom[0].get_legend_handles_labels()
    bottom[-1].legend(handles[::-1], labels[::-1], fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    save(figure, paths)


if __name__ == "__main__":
    start(main)
