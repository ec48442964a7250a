#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Projected density of one or several snapshots, from above (xy) and from the side (xz), on one logarithmic scale."""
import argparse

from plotting import Snapshot, Units, densest_centre, fail, np, plt, save, type_list
from matplotlib.colors import LogNorm


def spread(x, y, mass, half, pixels):
    """Surface density on a grid: every particle is a Gaussian as wide as the particles about it are apart, so that thin
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
    sigma = np.clip(np.sqrt(12.0 / (2 * np.pi * near)), 0.8, margin / 3)
    level = 2 * np.log2(sigma / 0.8)
    low = np.floor(level).astype(int)
    part = level - low
    total = np.zeros((size, size))
    for step in range(low.max() + 2 if len(low) else 0):
        weight = mass * (np.where(low == step, 1 - part, 0) + np.where(low == step - 1, part, 0))
        if weight.any():
            total += smooth(np.histogram2d(*cell, bins=size, range=[[0, size]] * 2, weights=weight)[0], 0.8 * 2 ** (step / 2))
    return np.maximum(total[margin:-margin, margin:-margin], 0) * scale**2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("snapshots", nargs="+", metavar="SNAPSHOT.hdf5")
    parser.add_argument("-o", "--output", default="density.png", help="image (default: %(default)s)")
    parser.add_argument("--types", type=type_list, metavar="T,T", help="particle types (default: all)")
    parser.add_argument("--width", type=float, help="side of the picture (default: holds 98 %% of the mass in every snapshot)")
    parser.add_argument("--centre", default="mass", choices=["mass", "density", "origin"],
                        help="the picture's middle: the centre of mass, the densest place, or (0,0,0) (default: %(default)s)")
    parser.add_argument("--range", type=float, default=4, help="decades of density shown (default: %(default)s)")
    parser.add_argument("--pixels", type=int, default=400, help="pixels of each picture's side (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.pixels < 16 or arguments.range <= 0 or (arguments.width is not None and arguments.width <= 0):
        parser.error("--pixels must be 16 or more, --range and --width above 0")

    shown = []
    for path in arguments.snapshots:
        snapshot = Snapshot(path, arguments.types)
        pos, mass = snapshot.all()
        if arguments.centre == "mass" and mass.sum() > 0:
            pos = pos - np.average(pos, axis=0, weights=mass)
        elif arguments.centre == "density":
            pos = pos - densest_centre(pos, mass)
        shown.append((snapshot, pos, mass))
    half = arguments.width / 2 if arguments.width else \
        1.05 * max(np.quantile(np.abs(pos), 0.98, axis=0).max() for _, pos, _ in shown)
    if not half > 0:
        fail("all particles are in one place; give --width")

    grids = [[spread(pos[:, 0], pos[:, axis], mass, half, arguments.pixels) for _, pos, mass in shown] for axis in (1, 2)]
    top = max(grid.max() for row in grids for grid in row)
    if not top > 0:
        fail("no mass inside the picture")
    colours = plt.get_cmap("inferno").copy()
    colours.set_bad(colours(0.0))
    norm = LogNorm(vmin=top * 10**-arguments.range, vmax=top)
    columns = len(shown)
    figure, axes = plt.subplots(2, columns, figsize=(2.6 * columns + 1.9, 6.0), squeeze=False, sharex=True, sharey=True,
                                layout="constrained")
    units = shown[0][0].units
    for row, name in enumerate("yz"):
        for column, (snapshot, _, _) in enumerate(shown):
            axis = axes[row][column]
            image = axis.imshow(np.maximum(grids[row][column], norm.vmin), origin="lower", extent=[-half, half, -half, half],
                                cmap=colours, norm=norm, interpolation="bilinear")
            axis.grid(False)
            if row == 0:
                axis.set_title(snapshot.time_text(), fontsize=10)
            else:
                axis.set_xlabel(Units.label("x", units.length))
            if column == 0:
                axis.set_ylabel(Units.label(name, units.length))
    unit = f"{units.mass} {units.length}$^{{-2}}$" if units.mass and units.length else "model units"
    figure.colorbar(image, ax=axes, label=f"surface density [{unit}]", shrink=0.8, pad=0.02)
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
