#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What analysis.csv says of a run: Lagrangian radii, velocity dispersion, bar strength, motion of the centre of
density, angular momentum
and virial ratio over time, by particle type."""
import argparse

from plotting import (COLOURS, TYPES, Help, Table, Units, add_output, count_text, fail, legend_above, legend_beside,
                      legend_on_top, np, ordered_colours, outputs, plt, program, save, start, table_path)
from unit_systems import add_units

FRACTIONS = ("01", "05", "10", "25", "50", "75", "90")
ALL = -1
FEW = 40   # rows: points are drawn too


def type_number(text):
    """For argparse: 'all' or 0 to 5."""
    if text not in ("all", "0", "1", "2", "3", "4", "5"):
        raise argparse.ArgumentTypeError(f"expected all, or a number from 0 to 5, found '{text}'")
    return ALL if text == "all" else int(text)


def type_name(number):
    return "all" if number == ALL else f"type {number} ({TYPES[number]})"


class Analysis(Table):
    """analysis.csv; rows of a type as columns."""

    def __init__(self, path):
        needed = ["time", "type", "dispersion", "dispersion_radial", "bar_strength"] + [f"r_{f}" for f in FRACTIONS] + \
            [f"{v}_{a}" for v in ("centre", "angular") for a in "xyz"]
        super().__init__(path, needed)
        found = sorted(set(self["type"].astype(int)))
        self.types = [t for t in found if t != ALL]
        if len(self.types) != 1 and ALL in found:   # of one type both are the same
            self.types.append(ALL)
        if not self.types:
            fail(f"{path} has no particles")

    def named(self, number):
        """A type and its number of particles at the start."""
        count = self.of("count", number) if "count" in self else []
        return type_name(number) + (f", {count_text(count[0])}" if len(count) else "")

    def of(self, name, number):
        return self[name][self["type"] == number]

    def vectors(self, stem, number):
        return self.vector(stem)[self["type"] == number]


def colour_of(number):
    return "#000000" if number == ALL else [c for c in COLOURS if c != "#000000"][number]


def radii(axis, run, number, time, style):
    """Lagrangian radii, the larger the darker."""
    shades = ordered_colours(len(FRACTIONS))[::-1]
    for fraction, shade in zip(FRACTIONS, shades):
        radius = run.of(f"r_{fraction}", number)
        axis.plot(time, np.where(radius > 0, radius, np.nan), style, color=shade, markersize=3,
                  label=f"{int(fraction)} %")
    axis.set_yscale("log")
    axis.set(title="Lagrangian radii" + ("" if len(run.types) == 1 else f", {type_name(number)}"),
             ylabel=Units.label("radius", run.units.length))
    handles, names = axis.get_legend_handles_labels()
    legend_beside(axis, handles=handles[::-1], labels=names[::-1], fontsize=8)


def draw(run, number, paths):
    units = run.units
    figure, axes = plt.subplots(2, 3, figsize=(13.5, 7.0), sharex=True, layout="constrained")
    if number not in run.types:
        fail(f"{run.path} has no rows of type {number}" if number != ALL else f"{run.path} has no rows of all")
    rows = len(run.of("time", run.types[0]))
    style = "o-" if rows <= FEW else "-"
    radii(axes[0, 0], run, number, run.of("time", number) * units.time_size, style)
    for t in run.types:
        time, colour = run.of("time", t) * units.time_size, colour_of(t)
        axes[0, 1].plot(time, run.of("dispersion", t) / 3**0.5, style, markersize=3, color=colour)
        axes[0, 1].plot(time, run.of("dispersion_radial", t), "--", color=colour)
        axes[0, 2].plot(time, run.of("bar_strength", t), style, markersize=3, color=colour)
        centre, angular = run.vectors("centre", t), run.vectors("angular", t)
        axes[1, 0].plot(time, np.linalg.norm(centre - centre[0], axis=1), style, markersize=3, color=colour)
        axes[1, 1].plot(time, np.linalg.norm(angular, axis=1), style, markersize=3, color=colour)
    axes[0, 1].set(title="velocity dispersion", ylabel=Units.label("dispersion", units.velocity))
    axes[0, 1].set_ylim(bottom=0)
    legend_above(axes[0, 1], handles=[plt.Line2D([], [], linestyle=line, color="0.3", label=name)
                                      for line, name in (("-", "an axis"), ("--", "radial"))],
                 fontsize=8)
    axes[0, 2].set(title="bar strength", ylabel="$A_2/A_0$", ylim=(0, None))
    axes[1, 0].set(title="centre of density", ylabel=Units.label("distance from its start", units.length))
    axes[1, 1].set(title="angular momentum", ylabel=Units.label("|L|", units.product("mass", "length", "velocity")))
    axes[1, 2].set(title="virial ratio $2T/|W|$", ylabel="$2T/|W|$")
    ratio = run.of("virial_ratio", ALL) if "virial_ratio" in run else np.zeros(0)
    if np.isfinite(ratio).any():
        axes[1, 2].plot(run.of("time", ALL) * units.time_size, ratio, style, markersize=3, color=colour_of(ALL))
        axes[1, 2].axhline(1, color="0.6", linewidth=0.8)
    else:   # not known of runs with neighbour lists
        axes[1, 2].set_visible(False)
    for axis in axes[1]:
        axis.set_xlabel(Units.label("time", units.time_unit))
    if len(run.types) == 1 and "count" in run:
        figure.suptitle(run.named(run.types[0]), x=0.01, ha="left", fontsize=10)
    if len(run.types) > 1:
        legend_on_top(figure, [plt.Line2D([], [], color=colour_of(t), label=run.named(t)) for t in run.types], most=4)
    save(figure, paths)


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    parser.add_argument("run", metavar="OUTPUTDIR|analysis.csv", help="folder of a run, or its table")
    add_output(parser, "analysis.png")
    add_units(parser)
    parser.add_argument("--type", type=type_number, metavar="T",
                        help="Lagrangian radii of this type, 0 to 5, or all (default: all)")
    arguments = parser.parse_args()
    paths = outputs(arguments.output, "analysis.png")
    run = Analysis(table_path(arguments.run, "analysis.csv"))
    number = run.types[-1] if arguments.type is None else arguments.type
    draw(run, run.types[0] if number == ALL and ALL not in run.types else number, paths)


if __name__ == "__main__":
    start(main)
