#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Binaries and hierarchies of a run, from its snapshots: eccentricities against axes and the distribution of axes in
the first and the last one, number and binding energy over time, and what happened to pairs between snapshots. A system
is two stars, or systems, that are each other's nearest and bound, where no third body disturbs them by --limit
of their binding or more. --table writes all systems of all snapshots, --events what happened. A run with
[Binaries] Interval has written both itself; where these have more times than snapshots, the last picture is of them."""
import argparse
import csv
import os

from plotting import (COLOURS, Help, Scale, Units, add_output, amount, fail, legend_above, marks, np, outputs, plt,
                      positive, program, same_units, save, shown, start, writable, write_units)
from snapshots import Snapshot, add_most, add_snapshots, check_most, chosen_snapshots
from espalier_plots.multiples import LIMIT, events, systems

KINDS = ["formed", "dissolved", "exchanged"]


class Moment:
    """The systems of a snapshot."""

    def __init__(self, path, arguments):
        snapshot = Snapshot(path, partial=arguments.partial, velocities=True, ids=True)
        if snapshot.gravity is None:
            fail(f"{path} does not state the gravitational constant, which binding energies need")
        pos, mass = snapshot.all()
        vel, ids = (np.concatenate(list(data.values())) for data in (snapshot.vel, snapshot.ids))
        if not np.isfinite(vel).all():
            fail(f"{path} has no velocities")
        self.path, self.units, self.time, self.gravity, self.mass = (path, snapshot.units, snapshot.time,
                                                                     snapshot.gravity, mass.sum())
        self.time_factor = snapshot.factors.time()
        self.count = len(mass)
        self.systems = systems(pos, vel, mass, ids, self.gravity, arguments.limit)
        self.binary = self.systems["stars"] == 2

    def energy(self, binary):
        return self.systems["energy"][self.binary == binary].sum()


def write_table(path, moments):
    with open(path, "w", newline="", encoding="utf-8") as file:
        write_units(file, moments[0].units, moments[0].gravity)
        table = csv.writer(file)
        table.writerow(["time", "first", "second", "inner_first", "inner_second", "stars", "a", "e", "period",
                        "mass_first", "mass_second", "tide", "energy", "x", "y", "z", "vx", "vy", "vz"])
        for moment in moments:
            for row in moment.systems:
                table.writerow([repr(float(moment.time)), row["first"], row["second"], *row["inner"], row["stars"],
                                *(repr(float(row[name])) for name in ("a", "e", "period")),
                                *(repr(float(x)) for x in row["mass"]), f"{row['tide']:.3g}",
                                *(repr(float(x)) for x in (row["energy"], *row["pos"], *row["vel"]))])


def write_events(path, happened, first):
    with open(path, "w", newline="", encoding="utf-8") as file:
        write_units(file, first.units, first.gravity)
        table = csv.writer(file)
        table.writerow(["after", "until", "event", "first", "second", "former_first", "former_second"])
        for before, after, list_of_them in happened:
            for kind, pair, former in list_of_them:
                table.writerow([repr(float(before)), repr(float(after)), kind, *pair, *(former or ("", ""))])


class Run:
    """Pairs and events over time: of the tables that the run wrote itself ([Binaries] Interval), where they have more
    times than its snapshots; else from these."""

    def __init__(self, moments, happened, folder):
        self.time, self.pairs = [m.time for m in moments], [int(m.binary.sum()) for m in moments]
        self.events = {kind: [until for _, until, part in happened for event in part if event[0] == kind]
                       for kind in KINDS}
        self.tables = False
        paths = [os.path.join(folder, name) for name in ("binaries.csv", "events.csv")] if folder else []
        if paths and all(os.path.isfile(path) for path in paths):
            self.take(*paths, moments[0].time_factor)

    def take(self, binaries, events, factor):
        try:
            times, counts = np.unique([factor * float(row["time"]) for row in rows_of(binaries) if row["stars"] == "2"],
                                      return_counts=True)
            said = [(row["event"], factor * float(row["until"])) for row in rows_of(events)]
        except (OSError, KeyError, ValueError, TypeError) as error:
            fail(f"{binaries} and {events} are not tables of a run: {error}")
        if len(times) <= len(self.time):
            return
        self.time, self.pairs, self.tables = list(times), list(counts), True
        self.events = {kind: [time for one, time in said if one == kind] for kind in [*KINDS, "escaped"]}


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def draw_orbits(axis, first, last, scale):
    for moment, colour, size in ((first, "#999999", 9), (last, COLOURS[0], 6)):
        rows = moment.systems
        for binary, symbol in ((True, "o"), (False, "^")):
            chosen = rows[moment.binary == binary]
            if len(chosen):
                axis.plot(chosen["a"], chosen["e"], symbol, color=colour, markersize=size / 2 if binary else size,
                          linestyle="none", alpha=0.7,
                          label=f"at {scale.time_text(moment.time)}" if binary else None)
    axis.set(xscale="log", xlabel=Units.label("semi-major axis (triangles: outer orbits)", scale.length),
             ylabel="eccentricity", ylim=(-0.02, 1.02), title="orbits")
    if axis.has_data():
        legend_above(axis)


def draw_axes(axis, first, last, scale):
    values = [np.log10(moment.systems["a"][moment.binary]) for moment in (first, last)]
    together = np.concatenate(values)
    if len(together):
        edges = np.linspace(together.min() - 0.01, together.max() + 0.01, 25)
        for moment, value, colour in zip((first, last), values, ("#999999", COLOURS[0])):
            axis.hist(10**value, bins=10**edges, histtype="step", color=colour,
                      label=f"at {scale.time_text(moment.time)}: {len(value)}")
        legend_above(axis)
    axis.set(xscale="log", xlabel=Units.label("semi-major axis", scale.length), ylabel="pairs", title="axes of pairs")


def draw_energies(axis, moments, scale):
    time, unit = [moment.time * scale.size for moment in moments], moments[0].units.energy
    for binary, label, colour in ((True, "in pairs", COLOURS[0]), (False, "of outer orbits", COLOURS[1])):
        energy = np.array([-moment.energy(binary) * moment.units.energy_size for moment in moments])
        start_text = f": {amount(energy[0])} {unit} at the start".replace("  ", " ") if energy[0] else ""
        if energy.any():
            axis.plot(time, energy - energy[0], color=colour, label=label + start_text, **marks(len(moments)))
    axis.set(xlabel=f"time [{scale.time}]", ylabel=Units.label("change of the binding energy", unit),
             title="energy")
    if axis.lines:
        legend_above(axis, ncols=1)


def draw_events(axis, run, scale):
    axis.plot(np.multiply(run.time, scale.size), run.pairs, color="#000000", label="pairs")
    for (kind, times), colour in zip(run.events.items(), COLOURS):
        steps = np.concatenate([run.time[:1], np.sort(times), run.time[-1:]]) * scale.size
        count = [*range(len(times) + 1), len(times)]
        axis.plot(steps, count, color=colour, label=kind, drawstyle="steps-post")
    axis.set(xlabel=f"time [{scale.time}]",
             ylabel="pairs and cumulative events,\n" + ("from tables of the run" if run.tables
                                                        else "between snapshots"))
    legend_above(axis)


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    add_snapshots(parser)
    add_output(parser, "binaries.png")
    parser.add_argument("--limit", type=positive, default=LIMIT,
                        help="largest tide of a third body, as a part of the binding (default: %(default)s)")
    parser.add_argument("--table", metavar="FILE.csv", help="write all systems")
    parser.add_argument("--events", metavar="FILE.csv", help="write what happened to pairs")
    add_most(parser, 400)
    arguments = parser.parse_args()
    check_most(parser, arguments, 100000)
    paths = outputs(arguments.output, "binaries.png")
    for path in filter(None, (arguments.table, arguments.events)):
        writable(path)
    chosen = chosen_snapshots(arguments)
    moments = sorted((Moment(path, arguments) for path in chosen), key=lambda moment: moment.time)
    same_units(moments)
    happened = [(a.time, b.time, events(a.systems, b.systems)) for a, b in zip(moments, moments[1:])]
    scale, first, last = Scale(moments[0]), moments[0], moments[-1]
    if arguments.table:
        write_table(arguments.table, moments)
    if arguments.events:
        write_events(arguments.events, happened, first)
    figure, axes = plt.subplots(2, 2, figsize=(11, 8.5), layout="constrained")
    draw_orbits(axes[0, 0], first, last, scale)
    draw_axes(axes[0, 1], first, last, scale)
    draw_energies(axes[1, 0], moments, scale)
    folders = {os.path.dirname(path) for path in chosen}
    folder = folders.pop() or "." if len(folders) == 1 else None
    run = Run(moments, happened, folder if len(moments) > 1 else None)
    draw_events(axes[1, 1], run, scale)
    name = os.path.basename(os.path.abspath(folder)) if folder else f"{len(moments)} snapshots"
    figure.suptitle(f"{shown(name)}: {first.count} particles, {scale.text}", x=0.01, ha="left", fontsize=11)
    save(figure, paths)
    print(f"{int(first.binary.sum())} pairs and {int((~first.binary).sum())} outer orbits at the start, "
          f"{int(last.binary.sum())} and {int((~last.binary).sum())} at the end; "
          + ", ".join(f"{len(times)} {kind}" for kind, times in run.events.items())
          + (" (events.csv; --events writes those from snapshot to snapshot)" if run.tables else " between snapshots"))


if __name__ == "__main__":
    start(main)
