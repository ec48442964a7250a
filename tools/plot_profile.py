#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Radial density about the densest place, and the Lagrangian radii of 10 to 90 % of the mass against time, of one or several
snapshots; a Plummer or Hernquist model of the same mass and half-mass radius can be drawn beside."""
import argparse

from plotting import (COLOURS, TYPES, Help, Units, add_output, densest_centre, fail, lagrangian, legend_above, legend_beside, np, outputs,
                      plt, program, same_units, save, start, type_list)
from snapshots import Snapshot, add_snapshots, snapshot_paths

MANY = 8   # more curves than this are told apart by a scale of colours

CENTRES = {"density": "the densest place", "mass": "the centre of mass", "types": "the densest place of each type"}
FRACTIONS = [0.1, 0.25, 0.5, 0.75, 0.9]


def profile(radius, mass, count, least=25):
    """Density in shells of equal ratio; neighbouring shells are joined until they hold `least` particles."""
    order = np.argsort(radius)
    radius, mass = radius[order], mass[order]
    inner = max(radius[min(least, len(radius) - 1)], 1e-300)
    bounds = np.append(0.0, np.geomspace(inner, max(radius[-1], inner) * (1 + 1e-9), count + 1))
    ends = np.searchsorted(radius, bounds)
    kept = [0]
    for i in range(1, len(ends)):
        if ends[i] - ends[kept[-1]] >= least:
            kept.append(i)
    bounds, ends = bounds[kept], ends[kept]
    middle = np.array([np.sqrt((radius[i:j] ** 2).mean()) for i, j in zip(ends[:-1], ends[1:])])
    inside = np.add.reduceat(mass[:ends[-1]], ends[:-1])
    good = (np.diff(bounds) > 0) & (middle > 0)
    return middle[good], inside[good] / (4 / 3 * np.pi * np.diff(bounds**3)[good])


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


def read(arguments):
    """Snapshots by time, distances from the centre by type, Lagrangian radii."""
    rows = []
    for path in snapshot_paths(arguments.snapshots):
        snapshot = Snapshot(path, arguments.types, arguments.partial)
        pos, mass = snapshot.all()
        if len(pos) < 40:
            fail(f"{path} has {len(pos)} particles, too few for a profile")
        radius = {kind: np.linalg.norm(p - centre_of(snapshot, kind, pos, mass, arguments.centre), axis=1)
                  for kind, p in snapshot.pos.items() if len(p)}
        snapshot.total, snapshot.pos = mass.sum(), {}   # of hundreds of snapshots, positions are not kept
        rows.append((snapshot, radius, lagrangian(np.concatenate(list(radius.values())), mass, FRACTIONS)))
        if not rows[-1][2][-1] > 0:
            fail(f"{path}: all particles are in one place")
    rows.sort(key=lambda row: row[0].time)
    same_units([row[0] for row in rows])
    return rows


def densities(figure, axis, rows, arguments):
    many = len(rows) > MANY and not arguments.by_type
    if arguments.by_type:
        snapshot, radius, _ = rows[-1]
        few = []
        for kind, values in radius.items():
            if len(values) >= 40:
                axis.loglog(*profile(values, snapshot.mass[kind], arguments.bins), color=COLOURS[kind], label=f"{kind} ({TYPES[kind]})")
            elif len(values):
                few.append(f"{kind} ({len(values)} particles)")
        if few:
            print(f"not drawn, too few for a profile: type {', '.join(few)}")
        if not axis.lines:
            fail("every type has too few particles for a profile")
        axis.set_title(f"density by type, {snapshot.time_text()}")
    else:
        times = [row[0].time * row[0].units.time_size for row in rows]
        scale = plt.Normalize(times[0], max(times[-1], times[0] + 1e-300))
        colours = plt.get_cmap("viridis")
        for number, (snapshot, radius, _) in enumerate(rows):
            values, mass = (np.concatenate(list(column.values())) for column in (radius, snapshot.mass))
            colour = colours(0.93 * scale(times[number])) if many else COLOURS[number]
            axis.loglog(*profile(values, mass, arguments.bins), color=colour,
                        linewidth=0.8 if many else 1.4, label=None if many else snapshot.time_text())
        if many:
            shades = plt.matplotlib.colors.ListedColormap(colours(np.linspace(0, 0.93, 256)))
            figure.colorbar(plt.cm.ScalarMappable(scale, shades), ax=axis, label=Units.label("time", rows[0][0].units.time_unit), pad=0.02)
        axis.set_title("density about " + CENTRES.get(arguments.centre, "the chosen centre"))
    if arguments.model:
        snapshot, radius, radii = rows[0]
        values = np.concatenate(list(radius.values()))
        grid = np.geomspace(np.quantile(values, 0.001), np.quantile(values, 0.995), 200)
        if not grid[0] > 0:
            fail(f"{snapshot.path}: too many particles are in one place for a model")
        name = arguments.model.capitalize()
        axis.loglog(grid, model(arguments.model, grid, snapshot.total, radii[2]), "k--", label=f"{name}, same mass\nand half-mass radius")
    units = rows[0][0].units
    unit = f"{units.mass} {units.length}$^{{-3}}$" if units.length else ""
    axis.set(xlabel=Units.label("radius", units.length), ylabel=Units.label("density", unit))
    if axis.get_legend_handles_labels()[0]:
        legend_above(axis, bbox_to_anchor=(1.0, 1.08), ncols=1) if many else legend_beside(axis)


def radii(axis, rows):
    units = rows[0][0].units
    time = [row[0].time * units.time_size for row in rows]
    for number, fraction in enumerate(FRACTIONS):
        axis.plot(time, [row[2][number] for row in rows], "o-" if len(rows) <= 60 else "-", markersize=4, color=COLOURS[number],
                  label=f"{100 * fraction:.0f} %")
    axis.set_yscale("log")
    axis.set(xlabel=Units.label("time", units.time_unit), ylabel=Units.label("radius", units.length), title="Lagrangian radii")
    handles, labels = axis.get_legend_handles_labels()
    legend_beside(axis, handles=handles[::-1], labels=labels[::-1])


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    add_snapshots(parser)
    add_output(parser, "profile.png")
    parser.add_argument("--types", type=type_list, metavar="T,T", help="particle types, 0 to 5 (default: all)")
    parser.add_argument("--by-type", action="store_true", help="one curve for each type (of the last snapshot)")
    parser.add_argument("--centre", type=centre, default="density", metavar="C", help="density (the densest place), mass (the centre of mass), "
                        "types (each type about its own densest place: the two cores of a merger), or x,y,z (default: density)")
    parser.add_argument("--model", choices=["plummer", "hernquist"], help="draw this model beside the first snapshot")
    parser.add_argument("--bins", type=int, default=40, help="shells (default: %(default)s)")
    arguments = parser.parse_args()
    if not 4 <= arguments.bins <= 10000:
        parser.error("--bins must be 4 to 10000")
    paths = outputs(arguments.output, "profile.png")
    rows = read(arguments)
    several = len(rows) > 1
    figure, axes = plt.subplots(1, 2 if several else 1, figsize=(13 if several else 7.5, 4.8), squeeze=False, layout="constrained")
    densities(figure, axes[0][0], rows, arguments)
    if several:
        radii(axes[0][1], rows)
    save(figure, paths)


if __name__ == "__main__":
    start(main)
