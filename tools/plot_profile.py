#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Radial density about the densest place, at seven times at most, and the Lagrangian radii of 10 to 90 % of the mass
against time, of one or several snapshots; a Plummer or Hernquist model of the same mass and half-mass radius can be
drawn beside. With --follow, which may be given several times, the profile of each set of particles about its own core:
the galaxies of a merger."""
import argparse

from plotting import (COLOURS, TYPES, Help, Units, add_output, count_text, densest_centre, fail, legend_above,
                      legend_beside, np, outputs, plt, program, same_units, save, start, type_list)
from espalier_plots.measure import lagrangian
from espalier_plots.pictures import FRACTIONS, density_axes, draw_lagrangian, draw_profile
from follow import Frames, add_follow, set_name
from snapshots import Snapshot, add_snapshots, evenly, snapshot_paths

MANY = 7    # of more times so many have a curve, with a scale of colours
FEW = 40    # particles: fewer have no profile
CENTRES = {"density": "the densest place", "mass": "the centre of mass", "types": "the densest place of each type"}
OF_SETS = [0.1, 0.5, 0.9]   # Lagrangian radii of several sets


def model(name, radius, mass, half):
    if name == "plummer":
        scale = half / 1.3048
        return 3 * mass / (4 * np.pi * scale**3) * (1 + (radius / scale) ** 2) ** -2.5
    scale = half / (1 + np.sqrt(2))
    return mass * scale / (2 * np.pi * radius * (radius + scale) ** 3)


def centre_of(snapshot, kind, pos, mass, wanted):
    """The centre of a type: of all particles but with "types"."""
    if wanted == "types":
        return densest_centre(snapshot.pos[kind], snapshot.mass[kind])
    if wanted == "density":
        return densest_centre(pos, mass)
    return np.average(pos, axis=0, weights=mass) if wanted == "mass" else np.array(wanted)


def centre(text):
    """For argparse: density, mass, types, or x,y,z."""
    if text in CENTRES:
        return text
    try:
        numbers = tuple(float(word) for word in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != 3 or not np.isfinite(numbers).all():
        raise argparse.ArgumentTypeError(f"expected {', '.join(CENTRES)}, or three numbers x,y,z, found '{text}'")
    return numbers


class Row:
    """One snapshot: distances from the centre and masses by type, or by set that is followed, and Lagrangian radii of
    each and of all."""

    def __init__(self, snapshot, parts):
        self.path, self.time, self.units, self.snapshot = snapshot.path, snapshot.time, snapshot.units, snapshot
        self.parts = parts   # {name: (radius, mass)}
        self.radius, self.mass = (np.concatenate([part[k] for part in parts.values()]) for k in (0, 1))
        self.radii = lagrangian(self.radius, self.mass, FRACTIONS)
        snapshot.pos, snapshot.mass = {}, {}

    @property
    def text(self):
        return self.snapshot.time_text()


def parts_of(snapshot, arguments, sets):
    """Distances and masses of the parts of a snapshot."""
    pos, mass = snapshot.all()
    if sets:
        out = {}
        for frames in sets:
            rows, (centre, _) = frames.rows(snapshot), frames.of(snapshot)
            out[set_name(frames.which)] = np.linalg.norm(pos[rows] - centre, axis=1), mass[rows]
        return out
    return {kind: (np.linalg.norm(p - centre_of(snapshot, kind, pos, mass, arguments.centre),
                                  axis=1), snapshot.mass[kind])
            for kind, p in snapshot.pos.items() if len(p)}


def read(arguments):
    """Rows by time."""
    rows, sets = [], [Frames(which) for which in arguments.follow or []]
    for path in snapshot_paths(arguments.snapshots):
        snapshot = Snapshot(path, arguments.types, arguments.partial, ids=any(frames.needs_ids() for frames in sets))
        if sum(map(len, snapshot.mass.values())) < FEW:
            fail(f"{path} has {sum(map(len, snapshot.mass.values()))} particles, too few for a profile")
        rows.append(Row(snapshot, parts_of(snapshot, arguments, sets)))
        if not rows[-1].radii[-1] > 0:
            fail(f"{path}: all particles are in one place")
    rows.sort(key=lambda row: row.time)
    same_units(rows)
    return rows


def by_part(axis, row, arguments):
    """A curve for each type or set of the last snapshot."""
    few = []
    for number, (part, (radius, mass)) in enumerate(row.parts.items()):
        name, colour = ((part, COLOURS[number % len(COLOURS)]) if arguments.follow
                        else (f"{part} ({TYPES[part]})", COLOURS[part]))
        if len(radius) >= FEW:
            draw_profile(axis, radius, mass, row.units, arguments.bins, color=colour,
                         label=f"{name}, {count_text(len(radius))}")
        elif len(radius):
            few.append(f"{name} ({len(radius)} particles)")
    if few:
        print(f"not drawn, too few for a profile: {'' if arguments.follow else 'type '}{', '.join(few)}")
    if not axis.lines:
        fail("every type has too few particles for a profile" if not arguments.follow
             else "every set has too few particles for a profile")
    axis.set_title(f"density {'about each core' if arguments.follow else 'by type'}, {row.text}")


def by_time(figure, axis, rows, arguments):
    """A curve for each snapshot."""
    many, counts = len(rows) > MANY, {len(row.mass) for row in rows}
    rows = evenly(rows, MANY)
    times = [row.time * row.units.time_size for row in rows]
    scale = plt.Normalize(times[0], max(times[-1], times[0] + 1e-300))
    colours = plt.get_cmap("inferno")
    for number, row in enumerate(rows):
        label = row.text if len(counts) == 1 else f"{row.text}, {count_text(len(row.mass))}"
        colour = colours(0.1 + 0.74 * scale(times[number])) if many else COLOURS[number]
        draw_profile(axis, row.radius, row.mass, row.units, arguments.bins, color=colour,
                     label=None if many else label)
    if many:
        shades = plt.matplotlib.colors.ListedColormap(colours(np.linspace(0.1, 0.84, 256)))
        figure.colorbar(plt.cm.ScalarMappable(scale, shades), ax=axis,
                        label=Units.label("time", rows[0].units.time_unit), pad=0.02)
    axis.set_title("density about " + CENTRES.get(arguments.centre, "the chosen centre") +
                   (f", {count_text(counts.pop())}" if len(counts) == 1 else ""))


def densities(figure, axis, rows, arguments):
    many = len(rows) > MANY and not (arguments.by_type or arguments.follow)
    if arguments.by_type or arguments.follow:
        by_part(axis, rows[-1], arguments)
    else:
        by_time(figure, axis, rows, arguments)
    if arguments.model:
        row = rows[0]
        grid = np.geomspace(np.quantile(row.radius, 0.001), np.quantile(row.radius, 0.995), 200)
        if not grid[0] > 0:
            fail(f"{row.path}: too many particles are in one place for a model")
        name = arguments.model.capitalize()
        axis.loglog(grid, model(arguments.model, grid, row.mass.sum(), row.radii[2]), "k--",
                    label=f"{name}, same mass\nand half-mass radius")
        density_axes(axis, row.units)
    if axis.get_legend_handles_labels()[0]:
        legend_above(axis, bbox_to_anchor=(1.0, 1.08), ncols=1) if many else legend_beside(axis)


def radii(axis, rows, arguments):
    """Lagrangian radii: of all particles, or of each set that is followed, about its own core."""
    times = [row.time for row in rows]
    if not arguments.follow:
        draw_lagrangian(axis, times, [row.radii for row in rows], rows[0].units)
        return
    units = rows[0].units
    for number, part in enumerate(rows[0].parts):
        found = np.array([lagrangian(*row.parts[part], OF_SETS) for row in rows])
        for k, line in enumerate((":", "-", "--")):
            axis.plot(np.array(times) * units.time_size, found[:, k], line, color=COLOURS[number % len(COLOURS)])
    axis.set_yscale("log")
    axis.set(xlabel=Units.label("time", units.time_unit), ylabel=Units.label("radius", units.length),
             title="Lagrangian radii about each core")
    legend_beside(axis, handles=[plt.Line2D([], [], linestyle=line, color="0.3", label=f"{100 * f:.0f} %")
                                 for f, line in zip(OF_SETS[::-1], ("--", "-", ":"))])


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    add_snapshots(parser)
    add_output(parser, "profile.png")
    parser.add_argument("--types", type=type_list, metavar="T,T", help="particle types, 0 to 5 (default: all)")
    parser.add_argument("--by-type", action="store_true", help="one curve for each type (of the last snapshot)")
    parser.add_argument("--centre", type=centre, default="density", metavar="C",
                        help="density (the densest place), mass (the centre of mass), "
                        "types (each type about its own densest place: the two cores of a merger), or x,y,z (default: "
                        "density)")
    add_follow(parser, action="append")
    parser.add_argument("--model", choices=["plummer", "hernquist"], help="draw this model beside the first snapshot")
    parser.add_argument("--bins", type=int, default=40, help="shells (default: %(default)s)")
    arguments = parser.parse_args()
    if not 4 <= arguments.bins <= 10000:
        parser.error("--bins must be 4 to 10000")
    paths = outputs(arguments.output, "profile.png")
    if arguments.follow and (arguments.by_type or arguments.types or arguments.centre != "density"):
        parser.error("--follow chooses particles and centres: leave --types, --by-type and --centre out")
    if arguments.follow and len(set(arguments.follow)) != len(arguments.follow):
        parser.error("--follow: the same set is given twice")
    rows = read(arguments)
    several = len(rows) > 1
    figure, axes = plt.subplots(1, 2 if several else 1, figsize=(13 if several else 7.5, 4.8), squeeze=False,
                                layout="constrained")
    densities(figure, axes[0][0], rows, arguments)
    if several:
        radii(axes[0][1], rows, arguments)
    save(figure, paths)


if __name__ == "__main__":
    start(main)
