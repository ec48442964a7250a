#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Projected density of one or several snapshots, from above (xy) and from the side (xz), all on one logarithmic scale. More than
seven stand in several rows; of very many, some at even distances are drawn (--most)."""
import argparse

from plotting import TYPES, Help, Units, add_output, densest_centre, fail, np, outputs, plt, program, positive, same_units, save, start, type_list
from snapshots import Snapshot, add_snapshots, evenly, snapshot_paths
from matplotlib.colors import LogNorm
from matplotlib.ticker import MaxNLocator

COLUMNS = 7   # snapshots side by side
AXES = {"xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}


def spread(x, y, mass, half, pixels, few=32):
    """Surface density on a grid: every particle is a Gaussian as wide as the `few` particles about it are apart, so that thin
    regions are smooth and dense ones sharp. Widths are rounded to a few sizes, and each size is one convolution."""
    margin = pixels // 4                      # what lies outside still reaches in
    size = pixels + 2 * margin
    scale = pixels / (2 * half)
    px, py = (x + half) * scale + margin, (y + half) * scale + margin
    inside = (px >= 0) & (px < size) & (py >= 0) & (py < size)
    px, py, mass = px[inside], py[inside], mass[inside]
    cell = (py.astype(np.int64), px.astype(np.int64))
    frequency = np.fft.fftfreq(size)[:, None] ** 2 + np.fft.rfftfreq(size)[None, :] ** 2

    def smooth(grid, sigma):
        return np.fft.irfft2(np.fft.rfft2(grid) * np.exp(-2 * np.pi**2 * sigma**2 * frequency), s=grid.shape)

    count = np.histogram2d(*cell, bins=size, range=[[0, size]] * 2)[0]
    density, coarse = smooth(count, 4.0), smooth(count, 16.0)
    near = np.where(density[cell] > 0.2, density[cell], np.maximum(coarse[cell], 1e-3))
    sigma = np.clip(np.sqrt(few / (2 * np.pi * near)), 0.8, margin / 3)
    level = 2 * np.log2(sigma / 0.8)
    low = np.floor(level).astype(int)
    part = level - low
    total = np.zeros((size, size))
    for step in range(low.max() + 2 if len(low) else 0):
        weight = mass * (np.where(low == step, 1 - part, 0) + np.where(low == step - 1, part, 0))
        if weight.any():
            total += smooth(np.histogram2d(*cell, bins=size, range=[[0, size]] * 2, weights=weight)[0], 0.8 * 2 ** (step / 2))
    return np.maximum(total[margin:-margin, margin:-margin], 0) * scale**2


def read(arguments):
    """Snapshots, and their positions about the picture's middle."""
    paths = snapshot_paths(arguments.snapshots)
    chosen = evenly(paths, arguments.most)
    if len(chosen) < len(paths):
        print(f"drawn: {len(chosen)} of {len(paths)} snapshots, at even distances (--most {len(paths)} draws all)")
    shown = []
    for path in chosen:
        snapshot = Snapshot(path, arguments.types, arguments.partial)
        pos, mass = snapshot.all()
        if arguments.centre == "mass":
            pos = pos - np.average(pos, axis=0, weights=mass)
        elif arguments.centre == "density":
            pos = pos - densest_centre(pos, mass)
        if arguments.by_type:
            kinds = np.concatenate([np.full(len(p), kind) for kind, p in snapshot.pos.items()])
            shown += [(snapshot, pos[kinds == kind], mass[kinds == kind], f"{snapshot.time_text()}, {kind} ({TYPES[kind]})")
                      for kind in sorted(snapshot.pos) if (kinds == kind).any()]
        else:
            shown.append((snapshot, pos, mass, snapshot.time_text()))
    same_units([snapshot for snapshot, *_ in shown])
    return shown


def frames(count, planes):
    """Figure and axes, [plane][snapshot]: blocks of a row for each plane."""
    blocks = -(-count // COLUMNS)
    columns = -(-count // blocks)
    side = 2.6 if columns < 6 else 2.1
    figure, axes = plt.subplots(blocks * len(planes), columns, figsize=(side * columns + 1.9, (side + 0.08) * blocks * len(planes) + 0.7),
                                squeeze=False, layout="constrained")
    places = [[axes[block * len(planes) + row][column] for block in range(blocks) for column in range(columns)] for row in range(len(planes))]
    for row in places:
        for number, axis in enumerate(row):
            axis.set_visible(number < count)
    return figure, places, columns


def draw(arguments, shown, half, paths):
    planes, count = arguments.planes, len(shown)
    grids = [[spread(pos[:, AXES[plane][0]], pos[:, AXES[plane][1]], mass, half, arguments.pixels) for _, pos, mass, _ in shown]
             for plane in planes]
    top = max(grid.max() for row in grids for grid in row)
    if not top > 0:
        fail("no mass inside the picture")
    norm = LogNorm(vmin=top * 10**-arguments.range, vmax=top)
    figure, places, columns = frames(count, planes)
    units = shown[0][0].units
    for row, plane in enumerate(planes):
        for number, (_, _, _, title) in enumerate(shown):
            axis = places[row][number]
            image = axis.imshow(np.maximum(grids[row][number], norm.vmin), origin="lower", extent=[-half, half, -half, half],
                                cmap="inferno", norm=norm, interpolation="bilinear")
            axis.grid(False)
            for ticks in (axis.xaxis, axis.yaxis):
                ticks.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
            lowest = row + 1 == len(planes) and number + columns >= count
            if row == 0:
                axis.set_title(title, fontsize=10)
            if lowest or (row + 1 == len(planes) and plane[0] != planes[0][0]):
                axis.set_xlabel(Units.label(plane[0], units.length))
            if number % columns == 0:
                axis.set_ylabel(Units.label(plane[1], units.length))
            axis.tick_params(labelbottom=lowest, labelleft=number % columns == 0)
    unit = units.product("mass") + f" {units.length}$^{{-2}}$" if units.length else "model units"
    figure.colorbar(image, ax=[axis for row in places for axis in row], label=f"surface density [{unit}]", pad=0.02, extend="min",
                    shrink=0.8 if count <= columns else 1, aspect=20 if count <= columns else 40)
    save(figure, paths)


def plane_list(text):
    """For argparse: 'xy,xz'."""
    planes = text.split(",")
    if len(set(planes)) != len(planes) or not all(plane in AXES for plane in planes):
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(AXES)} with commas between them, found '{text}'")
    return planes


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    add_snapshots(parser)
    add_output(parser, "density.png")
    parser.add_argument("--types", type=type_list, metavar="T,T", help="particle types, 0 to 5 (default: all)")
    parser.add_argument("--planes", type=plane_list, default=["xy", "xz"], metavar="P,P", help="of xy, xz, yz (default: xy,xz)")
    parser.add_argument("--width", type=positive, help="side of each picture, in the snapshots' unit (default: holds 99 %% of the "
                        "particles of the first snapshot and 98 %% of every other one)")
    parser.add_argument("--by-type", action="store_true", help="a picture for each particle type")
    parser.add_argument("--centre", default="mass", choices=["mass", "density", "origin"],
                        help="the picture's middle: the centre of mass, the densest place, or (0,0,0) (default: %(default)s)")
    parser.add_argument("--range", type=positive, default=4, help="decades of density shown (default: %(default)s)")
    parser.add_argument("--pixels", type=int, default=400, help="pixels of each picture's side (default: %(default)s)")
    parser.add_argument("--most", type=int, default=3 * COLUMNS, help="so many snapshots at most are drawn (default: %(default)s)")
    arguments = parser.parse_args()
    if not 16 <= arguments.pixels <= 4096 or arguments.range > 300:
        parser.error("--pixels must be 16 to 4096, --range at most 300")
    if not 1 <= arguments.most <= 200:
        parser.error("--most must be 1 to 200")
    paths = outputs(arguments.output, "density.png")
    shown = read(arguments)
    half = arguments.width / 2 if arguments.width else \
        1.05 * max(np.quantile(np.abs(pos), 0.98 if snapshot is not shown[0][0] else 0.99, axis=0).max() for snapshot, pos, _, _ in shown)
    if not half > 0:
        fail("all particles are in one place; give --width")
    draw(arguments, shown, half, paths)


if __name__ == "__main__":
    start(main)
