#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conservation: relative energy error, changes of kinetic and potential energy, virial ratio, and the drift of
momentum, angular momentum and centre of mass, from energy.csv of one or several runs. Numbers that close pairs make
spiky are faint points, with their running median over 15 rows. An external potential changes momentum and angular
momentum, a TidalField angular momentum; the titles say so. Momentum is in units of sum m|v|, angular momentum of sum
m|r x v|, about the centre of mass and in its frame, each the largest of the run, as in the line that a run prints at
its end; in tables without these sums both have their own units."""
import argparse
import glob
import os
import re

from plotting import (POTENTIAL, TIDE, Help, Table, Units, add_output, in_field, legend_above, legend_on_top,
                      line_colours, np, outputs, plt, program, same_units, save, shown, start, table_path)
from snapshots import Snapshot
from unit_systems import add_units


SPAN = 15   # rows of a running median


def medians(values):
    """Running median, of fewer rows at both ends."""
    half = SPAN // 2
    return np.array([np.median(values[max(k - half, 0):k + half + 1]) for k in range(len(values))])


def spiky(values, smooth):
    """Whether a few values are far from the others beside them, as those of close pairs at pericentre are."""
    off = np.abs(values - smooth)
    return len(values) > 2 * SPAN and off.max() > 8 * np.median(off) > 0


def draw_smooth(axis, time, values, colour, line="-"):
    """A line; of spiky values faint points and their running median. Returns what is to be seen of them."""
    smooth = medians(values)
    if not spiky(values, smooth):
        axis.plot(time, values, line, color=colour)
        return values
    axis.plot(time, values, ".", color=colour, alpha=0.45, markersize=4, markeredgewidth=0, zorder=1)
    axis.plot(time, smooth, line, color=colour, linewidth=1.8)
    return np.concatenate([smooth, np.quantile(values, (0.1, 0.9))])


def median_text(axis):
    """What stands in the title of a panel with running medians."""
    return ", running median" if any(line.get_marker() == "." for line in axis.lines) else ""


def limit(axis, seen, least=0.0):
    """The vertical range of what is to be seen."""
    low, high = min(map(np.min, seen)), max(map(np.max, seen))
    margin = max(0.15 * (high - low), least)
    if margin > 0:
        axis.set_ylim(low - margin, high + margin)


def labels(runs):
    """The runs' folders; where two have the same name, more of their paths."""
    folders = [os.path.dirname(os.path.abspath(run.path)) for run in runs]
    for parts in range(1, 5):
        names = [os.sep.join(folder.split(os.sep)[-parts:]) for folder in folders]
        if len(set(names)) == len(set(folders)):
            break
    return [shown(name) for name in names]


def total_mass(run):
    """Mass of the run's first snapshot; None: there is none that can be read."""
    paths = sorted(p for p in glob.glob(os.path.join(glob.escape(os.path.dirname(run.path) or "."), "*_*.hdf5"))
                   if re.search(r"(?<!fof)_\d+\.hdf5$", p))
    try:
        return Snapshot(paths[0]).all()[1].sum() if paths else None
    except SystemExit:
        return None


def straight(run, mass):
    """Positions of the centre of mass without its motion at the start; that is momentum over mass, or a straight line
    by least squares."""
    time, com = run["time"], run.vector("com")
    passed = (time - time[0])[:, None]
    if mass:
        return com - run.vector("momentum")[0] / mass * passed
    square = (passed**2).sum()
    return com - (passed * (com - com[0])).sum(axis=0) / square * passed if square > 0 else com


def drift(axis, time, vectors, title, label, unit, colour, more=0):
    """Length of the change of a vector since the start, and `more`."""
    axis.plot(time, np.linalg.norm(vectors - vectors[0], axis=1) + more, color=colour)
    axis.set(title=title, ylabel=Units.label(label, unit))


def errors(axis, run, colour, log):
    total = run.conserved_energy()
    error = (total - total[0]) / abs(total[0]) if total[0] != 0 else total
    time = run["time"] * run.units.time_size
    if log:
        axis.semilogy(time, np.where(np.abs(error) > 0, np.abs(error), np.nan), color=colour)
    else:
        axis.plot(time, error, color=colour)
    return np.abs(error).max()


def draw_changes(axis, runs, colours):
    """Changes of kinetic and potential energy since the start."""
    units, seen = runs[0].units, []
    relative = all(run["total"][0] != 0 for run in runs)
    for run, colour in zip(runs, colours):
        size = 1 / abs(run["total"][0]) if relative else units.energy_size
        for name, line in (("kinetic", "-"), ("potential", "--")):
            change = (run[name] - run[name][0]) * size
            seen.append(draw_smooth(axis, run["time"] * units.time_size, change, colour, line))
    limit(axis, seen)
    axis.set(title="energies", ylabel="change / $|E_0|$" if relative else Units.label("change", units.energy))
    legend_above(axis, handles=[plt.Line2D([], [], linestyle=line, color="0.3", label=name)
                                for name, line in (("kinetic", "-"), ("potential", "--"))])


def draw_virial(axis, runs, colours):
    """Kinetic energy over the half of the potential one."""
    seen = [draw_smooth(axis, run["time"] * run.units.time_size, -2 * run["kinetic"] / run["potential"], colour)
            for run, colour in zip(runs, colours) if (run["potential"] != 0).all()]
    axis.set(title="virial ratio $2T/|W|$" + median_text(axis), ylabel="$2T/|W|$")
    axis.axhline(1, color="0.6", linewidth=0.8)
    if seen:
        limit(axis, seen + [np.ones(1)], 1e-3)


def draw(runs, log, paths):
    units = runs[0].units
    figure, axes = plt.subplots(2, 3, figsize=(12.5, 6.6), sharex=True, layout="constrained")
    several = len(runs) > 1
    colours, names = line_colours(len(runs)), labels(runs)
    by_field = ",\nchanged by the field"
    moved = by_field if any(in_field(run, POTENTIAL) for run in runs) else ""
    turned = by_field if any(in_field(run, f"{POTENTIAL}|{TIDE}") for run in runs) else ""
    relative = all(name in run and run[name].max() > 0 for run in runs for name in ("momentum_scale", "angular_scale"))
    handles = []
    for number, (run, colour) in enumerate(zip(runs, colours)):
        time = run["time"] * units.time_size
        worst = errors(axes[0, 0], run, colour, log)
        handles.append(plt.Line2D([], [], color=colour, label=f"{names[number]}: largest error {worst:.1e}"))
        # the run keeps the momentum by taking this out
        removed = np.abs(run["momentum_removed"]) if "momentum_removed" in run else 0
        momentum, angular = (run[name].max() if relative else 1 for name in ("momentum_scale", "angular_scale"))
        drift(axes[1, 0], time, run.vector("momentum") / momentum, "momentum" + moved,
              "change / $\\Sigma\\,m|v|$" if relative else "change",
              "" if relative else units.product("mass", "velocity"), colour, removed / momentum)
        drift(axes[1, 1], time, run.vector("angular") / angular, "angular momentum" + turned,
              "change / $\\Sigma\\,m|r\\times v|$" if relative else "change",
              "" if relative else units.product("mass", "length", "velocity"), colour)
        drift(axes[1, 2], time, straight(run, total_mass(run)), "centre of mass, without the bulk motion", "change",
              units.length, colour)
    axes[0, 0].set(title="relative energy error", ylabel="$|\\Delta E / E_0|$" if log else "$\\Delta E / |E_0|$")
    if not log:
        axes[0, 0].axhline(0, color="0.6", linewidth=0.8)
    draw_changes(axes[0, 1], runs, colours)
    draw_virial(axes[0, 2], runs, colours)
    for axis in axes[1]:
        axis.set_xlabel(Units.label("time", units.time_unit))
    if several:
        legend_on_top(figure, handles)
    else:
        figure.suptitle(handles[0].get_label(), x=0.01, ha="left", fontsize=11)
    save(figure, paths)


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    parser.add_argument("runs", nargs="+", metavar="OUTPUTDIR|energy.csv", help="folders of runs, or their tables")
    add_output(parser, "energy.png")
    add_units(parser)
    parser.add_argument("--log", action="store_true", help="|dE/E| on a logarithmic scale")
    arguments = parser.parse_args()
    paths = outputs(arguments.output, "energy.png")
    needed = ["time", "kinetic", "potential", "total"] + [f"{v}_{a}" for v in ("momentum", "angular", "com")
                                                          for a in "xyz"]
    runs = [Table(table_path(path, "energy.csv"), needed) for path in arguments.runs]
    same_units(runs)
    draw(runs, arguments.log, paths)


if __name__ == "__main__":
    start(main)
