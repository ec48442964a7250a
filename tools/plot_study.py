#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locally essential trees against the number of ranks, from tables of 'espalier study let -o' (one row for every P):
the two ratios of Watanabe & Nakasato (2014, fig. 4) beside their values, entries, and bytes of soft and hard
exchanges."""
import argparse
import os

from plotting import (Help, Table, add_output, fail, line_colours, np, outputs, plt, program, ranks_axis, save, shown,
                      start)

NEEDED = ["ranks", "R1_over_R0", "local_mean", "soft_mean", "hard_mean", "soft_bytes", "hard_bytes", "update_bytes",
          "hard_over_soft", "local_hard_over_local_soft"]
PAPER = "Watanabe & Nakasato 2014"


class Curve:
    """The rows of one table with one R1 and one scheme, ascending in P."""

    def __init__(self, table, chosen, label):
        rows = np.nonzero(chosen)[0]
        rows = rows[np.argsort(table["ranks"][rows], kind="stable")]
        self.table, self.rows, self.label = table, rows, label

    def __getitem__(self, name):
        return self.table[name][self.rows]


def curves_of(paths):
    curves = []
    for path in paths:
        table = Table(path, NEEDED, words=("scheme",))
        schemes = table.words["scheme"] if "scheme" in table else np.full(len(table["ranks"]), "")
        name = f"{shown(os.path.splitext(os.path.basename(path))[0])}, " if len(paths) > 1 else ""
        for scheme in np.unique(schemes):
            for radius in np.unique(table["R1_over_R0"][schemes == scheme]):
                text = f"$R_1 = {radius:.3g}\\,R_0$" if radius > 0 else f"no split, {scheme}" if scheme else "no split"
                curves.append(Curve(table, (schemes == scheme) & (table["R1_over_R0"] == radius), name + text))
    return curves


def ratios(axis, curves, colours):
    for curve, colour in zip(curves, colours):
        many = curve["ranks"] > 1
        axis.plot(curve["ranks"][many], curve["hard_over_soft"][many], "-", color=colour, label=curve.label)
        axis.plot(curve["ranks"][many], curve["local_hard_over_local_soft"][many], "--", color=colour)
    axis.axhline(0.4, color="0.4", linestyle=":", linewidth=1)
    axis.plot([128], [0.7], "*", color="0.2", markersize=10)
    axis.annotate(f"{PAPER}: 0.4", (0.99, 0.4), xycoords=("axes fraction", "data"), xytext=(0, 3),
                  textcoords="offset points", fontsize=8, color="0.3", ha="right")
    axis.annotate(f"{PAPER}: 0.7", (128, 0.7), xytext=(-8, 0), textcoords="offset points", fontsize=8, color="0.3",
                  ha="right", va="center")
    axis.plot([], [], "k-", label=r"$N_{\rm hard}/N_{\rm soft}$")
    axis.plot([], [], "k--", label=r"$N_{\rm local+hard}/N_{\rm local+soft}$")
    axis.set(title="hard over soft", ylabel="ratio of means over ranks")
    axis.set_ylim(bottom=0)


def above_zero(values):
    """On a logarithmic axis nothing stands for 0."""
    return np.where(values > 0, values, np.nan)


def entries(axis, curves, colours):
    axis.plot(curves[0]["ranks"], curves[0]["local_mean"], color="0.35", linestyle="-.", label="local: N / P")
    for curve, colour in zip(curves, colours):
        axis.plot(curve["ranks"], above_zero(curve["soft_mean"]), "-", color=colour, label=f"soft, {curve.label}")
        axis.plot(curve["ranks"], above_zero(curve["hard_mean"]), "--", color=colour, label=f"hard, {curve.label}")
    axis.set_yscale("log")
    axis.set(title="particles, and entries received", ylabel="particles or entries of a rank, mean")


def traffic(axis, curves, colours):
    for curve, colour in zip(curves, colours):
        for name, line, what in (("soft_bytes", "-", "soft"), ("hard_bytes", "--", "hard"),
                                 ("update_bytes", ":", "update")):
            axis.plot(curve["ranks"], above_zero(curve[name]) / 1e6, line, color=colour, label=f"{what}, {curve.label}")
    axis.set_yscale("log")
    axis.set(title="sent in one exchange", ylabel="megabytes a rank sends, mean")


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    parser.add_argument("tables", metavar="TABLE.csv", nargs="+", help="tables of 'espalier study let -o'")
    add_output(parser, "study.png")
    arguments = parser.parse_args()
    paths = outputs(arguments.output, "study.png")
    curves = curves_of(arguments.tables)
    most = max(curve["ranks"].max() for curve in curves)
    if most < 2:
        fail("on one rank there is nothing to draw")
    figure, axes = plt.subplots(1, 3, figsize=(15, 6.0), layout="constrained")
    for axis, draw in zip(axes, (ratios, entries, traffic)):
        draw(axis, curves, line_colours(len(curves)))
        ranks_axis(axis, max(most, 128 if draw is ratios else 1), 9)
        axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    save(figure, paths)


if __name__ == "__main__":
    start(main)
