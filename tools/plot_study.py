#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locally essential trees against the number of ranks, from tables of 'espalier study let -o' (one row for every P): the two
ratios of Watanabe & Nakasato (2014, fig. 4) beside their values, entries, and bytes of soft and hard exchanges."""
import argparse
import os

from plotting import COLOURS, Table, fail, np, plt, save

NEEDED = ["ranks", "R1_over_R0", "local_mean", "soft_mean", "hard_mean", "soft_bytes", "hard_bytes", "update_bytes",
          "hard_over_soft", "local_hard_over_local_soft"]


class Curve:
    """The rows of one table with one R1, ascending in P."""

    def __init__(self, table, radius, label):
        rows = np.nonzero(table["R1_over_R0"] == radius)[0]
        rows = rows[np.argsort(table["ranks"][rows], kind="stable")]
        self.table, self.rows, self.label = table, rows, label

    def __getitem__(self, name):
        return self.table[name][self.rows]


def curves_of(paths):
    curves = []
    for path in paths:
        table = Table(path, NEEDED)
        name = f"{os.path.splitext(os.path.basename(path))[0]}, " if len(paths) > 1 else ""
        for radius in np.unique(table["R1_over_R0"]):
            text = f"$R_1 = {radius:.3g}\\,R_0$" if radius > 0 else "no split"
            curves.append(Curve(table, radius, name + text))
    return curves


def ratios(axis, curves):
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        many = curve["ranks"] > 1
        axis.plot(curve["ranks"][many], curve["hard_over_soft"][many], "-", color=colour, label=curve.label)
        axis.plot(curve["ranks"][many], curve["local_hard_over_local_soft"][many], "--", color=colour)
    axis.axhline(0.4, color="0.4", linestyle=":", linewidth=1)
    axis.plot([128], [0.7], "*", color="0.2", markersize=10)
    axis.annotate("paper: 0.4", (0.01, 0.4), xycoords=("axes fraction", "data"), xytext=(0, 3), textcoords="offset points",
                  fontsize=8, color="0.3")
    axis.annotate("paper: 0.7", (128, 0.7), xytext=(6, 4), textcoords="offset points", fontsize=8, color="0.3")
    axis.plot([], [], "k-", label=r"$N_{\rm hard}/N_{\rm soft}$")
    axis.plot([], [], "k--", label=r"$N_{\rm local+hard}/N_{\rm local+soft}$")
    axis.set(title="hard over soft", ylabel="ratio of means over ranks")
    axis.set_ylim(bottom=0)


def entries(axis, curves):
    axis.plot(curves[0]["ranks"], curves[0]["local_mean"], "k-", label="local: N / P")
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        axis.plot(curve["ranks"], curve["soft_mean"], "-", color=colour, label=f"soft, {curve.label}")
        axis.plot(curve["ranks"], curve["hard_mean"], "--", color=colour, label=f"hard, {curve.label}")
    axis.set_yscale("log")
    axis.set(title="particles, and entries received", ylabel="of a rank, mean")


def traffic(axis, curves):
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        for name, line, what in (("soft_bytes", "-", "soft"), ("hard_bytes", "--", "hard"), ("update_bytes", ":", "update")):
            axis.plot(curve["ranks"], curve[name] / 1e6, line, color=colour, label=f"{what}, {curve.label}")
    axis.set_yscale("log")
    axis.set(title="sent in one exchange", ylabel="megabytes of a rank, mean")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", metavar="TABLE.csv", nargs="+", help="tables of 'espalier study let -o'")
    parser.add_argument("-o", "--output", default="study.png", help="image (default: %(default)s)")
    arguments = parser.parse_args()
    curves = curves_of(arguments.tables)
    if max(curve["ranks"].max() for curve in curves) < 2:
        fail("on one rank there is nothing to draw")
    figure, axes = plt.subplots(1, 3, figsize=(15, 6.4), layout="constrained")
    for axis, draw in zip(axes, (ratios, entries, traffic)):
        draw(axis, curves)
        axis.set_xscale("log", base=2)
        axis.set_xlabel("ranks P")
        axis.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
