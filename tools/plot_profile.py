#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Radial density about the densest place, and the radii that hold 10 to 90 % of the mass against time, of one or several
snapshots; a Plummer or Hernquist model of the same mass and half-mass radius can be drawn beside."""
import argparse

from plotting import COLOURS, TYPES, Snapshot, Units, densest_centre, fail, np, plt, save, type_list

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


def lagrangian(radius, mass):
    order = np.argsort(radius)
    sums = np.cumsum(mass[order])
    return [radius[order][np.searchsorted(sums, f * sums[-1]).clip(0, len(sums) - 1)] for f in FRACTIONS]


def model(name, radius, mass, half):
    if name == "plummer":
        scale = half / 1.3048
        return 3 * mass / (4 * np.pi * scale**3) * (1 + (radius / scale) ** 2) ** -2.5
    scale = half / (1 + np.sqrt(2))
    return mass * scale / (2 * np.pi * radius * (radius + scale) ** 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("snapshots", nargs="+", metavar="SNAPSHOT.hdf5")
    parser.add_argument("-o", "--output", default="profile.png", help="image (default: %(default)s)")
    parser.add_argument("--types", type=type_list, metavar="T,T", help="particle types (default: all)")
    parser.add_argument("--by-type", action="store_true", help="one curve for each type (of the last snapshot)")
    parser.add_argument("--model", choices=["plummer", "hernquist"], help="draw this model beside the first snapshot")
    parser.add_argument("--bins", type=int, default=40, help="shells (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.bins < 4:
        parser.error("--bins must be 4 or more")

    rows = []
    for path in arguments.snapshots:
        snapshot = Snapshot(path, arguments.types)
        pos, mass = snapshot.all()
        if len(pos) < 40:
            fail(f"{path} has {len(pos)} particles, too few for a profile")
        centre = densest_centre(pos, mass)
        radius = {kind: np.linalg.norm(p - centre, axis=1) for kind, p in snapshot.pos.items()}
        rows.append((snapshot, radius, lagrangian(np.concatenate(list(radius.values())), mass)))
    rows.sort(key=lambda row: row[0].time)
    units = rows[0][0].units

    several = len(rows) > 1
    figure, axes = plt.subplots(1, 2 if several else 1, figsize=(11 if several else 6.5, 4.8), squeeze=False, layout="constrained")
    left = axes[0][0]
    if arguments.by_type:
        snapshot, radius, _ = rows[-1]
        for kind, values in radius.items():
            if len(values) >= 40:
                left.loglog(*profile(values, snapshot.mass[kind], arguments.bins), color=COLOURS[kind], label=f"{kind} ({TYPES[kind]})")
        left.set_title(f"density by type, {snapshot.time_text()}")
    else:
        shades = plt.get_cmap("viridis")(np.linspace(0, 0.9, len(rows)))
        for shade, (snapshot, radius, _) in zip(shades, rows):
            values, mass = np.concatenate(list(radius.values())), snapshot.all()[1]
            left.loglog(*profile(values, mass, arguments.bins), color=shade if several else COLOURS[0], label=snapshot.time_text())
        left.set_title("density about the densest place")
    if arguments.model:
        snapshot, radius, radii = rows[0]
        values = np.concatenate(list(radius.values()))
        grid = np.geomspace(np.quantile(values, 0.001), np.quantile(values, 0.995), 200)
        left.loglog(grid, model(arguments.model, grid, snapshot.all()[1].sum(), radii[2]), "k--", label=f"{arguments.model}, same mass and half-mass radius")
    unit = f"{units.mass} {units.length}$^{{-3}}$" if units.mass and units.length else ""
    left.set(xlabel=Units.label("radius", units.length), ylabel=Units.label("density", unit))
    left.legend(ncols=1 if len(rows) < 9 else 2)
    if several:
        right = axes[0][1]
        time = [row[0].time for row in rows]
        for number, fraction in enumerate(FRACTIONS):
            right.plot(time, [row[2][number] for row in rows], "o-", markersize=4, color=COLOURS[number], label=f"{100 * fraction:.0f} %")
        right.set_yscale("log")
        right.set(xlabel=Units.label("time", units.time), ylabel=Units.label("radius", units.length), title="radii that hold a part of the mass")
        handles, labels = right.get_legend_handles_labels()
        right.legend(handles[::-1], labels[::-1])
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
