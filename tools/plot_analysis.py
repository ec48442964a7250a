#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What analysis.csv says of a run: Lagrangian radii, velocity dispersion, bar strength (where there is a type of
discs), motion of the centre of density, angular momentum (not in a TidalField, where escapers rule it) and virial ratio
over time, by particle type. Of a run with
binaries and cluster.csv (Cluster = on) the dispersion is that of systems as centres of mass, of this table."""
import argparse
import os

from plotting import (COLOURS, TIDE, TYPES, Help, Table, Units, add_output, count_text, fail, in_field, legend_above,
                      legend_beside, legend_on_top, np, ordered_colours, outputs, plt, program, same_units, save, start,
                      table_path)
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
        """A type and its number of particles at the start; of one type alone this number."""
        count = self.of("count", number) if "count" in self else []
        name = [type_name(number)] if len(self.types) > 1 else []
        return ", ".join(name + ([count_text(count[0])] if len(count) else []))

    def has_disc(self):
        """Whether a type may be a disc: disk, or stars beside others."""
        return 2 in self.types or (4 in self.types and len(self.types) > 1)

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


def dispersions(axis, run, systems, style):
    """That of all particles by type, or of the systems of a cluster."""
    units = run.units
    axis.set(title="velocity dispersion", ylabel=Units.label("dispersion", units.velocity))
    if systems and "dispersion" in systems and "binary_fraction" in systems and systems["binary_fraction"].any():
        axis.plot(systems["time"] * units.time_size, systems["dispersion"], style, markersize=3, color=colour_of(ALL))
        axis.set_title("velocity dispersion of systems, per axis,\nwithin the half-mass radius (cluster.csv)")
    else:
        for t in run.types:
            time, colour = run.of("time", t) * units.time_size, colour_of(t)
            axis.plot(time, run.of("dispersion", t) / 3**0.5, style, markersize=3, color=colour)
            axis.plot(time, run.of("dispersion_radial", t), "--", color=colour)
        legend_above(axis, handles=[plt.Line2D([], [], linestyle=line, color="0.3", label=name)
                                    for line, name in (("-", "per axis"), ("--", "radial"))], fontsize=8)
        if systems and "binary_fraction" in systems and systems["binary_fraction"].any():
            axis.set_title("velocity dispersion,\nwith orbits in binaries")
    axis.set_ylim(bottom=0)


def virial(axis, run, style):
    """Of all; not known of runs with neighbour lists."""
    axis.set(title="virial ratio $2T/|W|$", ylabel="$2T/|W|$")
    axis.plot(run.of("time", ALL) * run.units.time_size, run.of("virial_ratio", ALL), style, markersize=3,
              color=colour_of(ALL))
    axis.axhline(1, color="0.6", linewidth=0.8)


def steady(axis):
    """Changes of less than a thousandth are shown as small ones."""
    low, high = axis.get_ylim()
    if 0 < high - low < 1e-3 * high:
        axis.set_ylim(0.99 * low, 1.01 * high)


def places(names):
    """A figure with a panel for each name, without empty places: of three or five panels the first one is twice as
    high."""
    tall = len(names) in (3, 5)
    columns = -(-(len(names) + tall) // 2)
    figure = plt.figure(figsize=(1.5 + 4 * columns, 6.6), layout="constrained")
    grid = figure.add_gridspec(2, columns)
    cells = [(row, column) for row in range(2) for column in range(columns)]
    if tall:
        cells = [(slice(0, 2), 0)] + [(row, column) for row, column in cells if column]
    panels = {}
    for name, cell in zip(names, cells):
        panels[name] = figure.add_subplot(grid[cell], sharex=panels.get("radii"))
    return figure, panels


def draw_types(panels, run, style):
    """Panels with a curve for each type."""
    units = run.units
    for t in run.types:
        time, colour = run.of("time", t) * units.time_size, colour_of(t)
        centre, angular = run.vectors("centre", t), run.vectors("angular", t)
        curves = {"bar": run.of("bar_strength", t), "centre": np.linalg.norm(centre - centre[0], axis=1),
                  "angular": np.linalg.norm(angular, axis=1)}
        for name in curves.keys() & panels.keys():
            panels[name].plot(time, curves[name], style, markersize=3, color=colour)
    if "bar" in panels:
        panels["bar"].set(title="bar strength", ylabel="$A_2/A_0$", ylim=(0, None))
    panels["centre"].set(title="centre of density", ylabel=Units.label("distance from its start", units.length))
    if "angular" in panels:
        panels["angular"].set(title="angular momentum",
                              ylabel=Units.label("|L|", units.product("mass", "length", "velocity")))
        steady(panels["angular"])


def draw(run, systems, number, paths):
    units = run.units
    balanced = "virial_ratio" in run and bool(np.isfinite(run.of("virial_ratio", ALL)).any())
    names = ["radii", "dispersion"] + ["bar"] * (run.has_disc() and not systems) + ["centre"] + \
        ["angular"] * (not in_field(run, TIDE)) + ["virial"] * balanced
    if number not in run.types:
        fail(f"{run.path} has no rows of type {number}" if number != ALL else f"{run.path} has no rows of all")
    figure, panels = places(names)
    style = "o-" if len(run.of("time", run.types[0])) <= FEW else "-"
    radii(panels["radii"], run, number, run.of("time", number) * units.time_size, style)
    dispersions(panels["dispersion"], run, systems, style)
    draw_types(panels, run, style)
    if balanced:
        virial(panels["virial"], run, style)
    for axis in panels.values():
        lowest = axis.get_subplotspec().is_last_row()
        axis.tick_params(labelbottom=lowest)
        axis.set_xlabel(Units.label("time", units.time_unit) if lowest else "")
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
    beside = os.path.join(os.path.dirname(run.path), "cluster.csv")
    systems = Table(beside, ["time"]) if os.path.exists(beside) else None
    same_units([run, systems] if systems else [run])
    draw(run, systems, run.types[0] if number == ALL and ALL not in run.types else number, paths)


if __name__ == "__main__":
    start(main)
