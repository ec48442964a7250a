# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of particles: maps of density and velocity, phase space, profiles. espalier-plot and the methods of
pyespalier draw by these."""
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm, Normalize

from .measure import AXES, lagrangian, phase_density, profile, surface_density, velocity_maps
from .style import COLOURS, DENSITY, SIGNED, WIDTH, MaxNLocator, Units, count_text, legend_beside, ordered_colours

FRACTIONS = [0.1, 0.25, 0.5, 0.75, 0.9]   # of the mass: Lagrangian radii
COLOUR_MAPS = {"density": DENSITY, "velocity": SIGNED, "dispersion": WIDTH, "phase": DENSITY}


@dataclass
class View:
    """Particles in the frame of a picture: positions and velocities about its origin (vel None: not known), masses,
    what stands over it; Jacobi radius (None: not known) and its centre."""

    pos: Any
    vel: Any
    mass: Any
    title: str = ""
    units: Units = None
    jacobi: Any = None
    centre: Any = None

    def extent(self, part=0.99):
        """Half-width of a square that holds a part of the particles in each direction."""
        return float(np.quantile(np.abs(self.pos), part, axis=0).max())

    def speed(self, part=0.995):
        """The same of velocities."""
        return float(np.quantile(np.abs(self.vel), part, axis=0).max())


@dataclass(frozen=True)
class Panel:
    """What a panel shows: density, velocity (the mean along the line of sight) or dispersion in a plane "xy", "xz" or
    "yz"; or phase with
    "r", "x", "y" or "z"."""

    quantity: str
    plane: str

    def sight(self):
        """The axis along the line of sight."""
        return next(axis for axis in "xyz" if axis not in self.plane)

    def label(self, units):
        """Of the colour scale."""
        if self.quantity == "velocity":
            return Units.label(f"mean $v_{self.sight()}$", units.velocity)
        if self.quantity == "dispersion":
            return Units.label(f"dispersion of $v_{self.sight()}$", units.velocity)
        if self.quantity == "density":
            return f"surface density [{units.surface or 'model units'}]"
        area = f"{units.mass} {units.length}$^{{-1}}$ ({units.velocity})$^{{-1}}$"
        return f"density in phase space [{area if units.length else 'model units'}]"

    def axes(self, units):
        """Labels of the axes."""
        if self.quantity == "phase":
            first = "radius" if self.plane == "r" else self.plane
            return Units.label(first, units.length), Units.label(f"$v_{self.plane}$", units.velocity)
        return Units.label(self.plane[0], units.length), Units.label(self.plane[1], units.length)

    def extent(self, half, speed):
        """[left, right, bottom, top]."""
        if self.quantity == "phase":
            return [0 if self.plane == "r" else -half, half, -speed, speed]
        return [-half, half, -half, half]


def grids_of(view, panels, half, speed, pixels):
    """For each panel (density for a mask, what is shown)."""
    planes, out = {}, []
    for panel in panels:
        plane = panel.plane
        if panel.quantity == "phase":
            grid = phase_density(view.pos, view.vel, view.mass, plane, half, speed, pixels)
            out.append((grid, grid))
            continue
        if plane not in planes:
            i, j = AXES[plane]
            if any(p.plane == plane and p.quantity in ("velocity", "dispersion") for p in panels):
                maps = velocity_maps(view.pos[:, i], view.pos[:, j], view.vel[:, 3 - i - j], view.mass, half, pixels)
            else:
                maps = (surface_density(view.pos[:, i], view.pos[:, j], view.mass, half, pixels),)
            planes[plane] = (maps[0] * (view.units.surface_size if view.units else 1.0), *maps[1:])
        out.append((planes[plane][0], planes[plane][("density", "velocity", "dispersion").index(panel.quantity)]))
    return out


def scales_of(panels, grids, decades):
    """The colour scale of each panel, one for all panels of a quantity, or None where there is no mass. Velocities are
    shown where the
    density is on its scale."""
    found = {}
    for quantity in dict.fromkeys(panel.quantity for panel in panels):
        mine = [row[k] for row in grids for k, panel in enumerate(panels) if panel.quantity == quantity]
        top = max(float(density.max()) for density, _ in mine)
        if not top > 0:
            return None
        lowest = top * 10**-decades
        if quantity in ("density", "phase"):
            found[quantity] = LogNorm(vmin=lowest, vmax=top), lowest
            continue
        values = np.concatenate([value[(density > lowest) & np.isfinite(value)] for density, value in mine])
        largest = float(np.quantile(np.abs(values), 0.99)) if len(values) else 0.0
        largest = largest if largest > 0 else 1.0
        found[quantity] = Normalize(-largest if quantity == "velocity" else 0.0, largest), lowest
    return [found[panel.quantity] for panel in panels]


def heights_of(views, panels, half):
    """For each panel the vertical half-width of its picture as a part of the horizontal one: less than 1 where the mass
    is flat, as a disc from the side."""
    heights = []
    for panel in panels:
        if panel.plane not in ("xz", "yz") or any(other.quantity != "density" for other in panels):
            heights.append(1.0)
            continue
        i, j = AXES[panel.plane]
        shown = [view.pos[np.abs(view.pos[:, i]) < half] for view in views]
        high = max((float(np.quantile(np.abs(pos[:, j]), 0.985)) for pos in shown if len(pos)), default=half)
        part = max(1.4 * high / half, *(view.jacobi * 1.05 / half if view.jacobi else 0.2 for view in views), 0.2)
        heights.append(part if part < 0.75 else 1.0)
    room = max(0.7 - sum(heights), 0) / len(heights)   # for the label of the colour bar
    return [part + room for part in heights]


def finish_axes(axis, panel, units):
    """Ticks and labels of a panel."""
    axis.grid(False)
    for ticks in (axis.xaxis, axis.yaxis):
        ticks.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axis.set(**dict(zip(("xlabel", "ylabel"), panel.axes(units))))


def crop(axis, half, part):
    """The vertical range of a panel, part of the horizontal one."""
    axis.set_ylim(-half * part, half * part)
    if part < 0.6:
        axis.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))


def draw_points(axis, panel, view, half, mean):
    """Particles as points whose area is proportional to the mass; `mean`: the mass of a point of the mean area."""
    i, j = AXES[panel.plane]
    area = min(max(3000 / max(len(view.mass), 1), 0.5), 8)
    axis.scatter(view.pos[:, i], view.pos[:, j], s=np.clip(area * view.mass / mean, 0.08, 60), color="0.15", alpha=0.6,
                 linewidths=0, rasterized=True)
    if view.jacobi and view.jacobi < 1.5 * half:
        axis.add_patch(plt.Circle(view.centre[[i, j]], view.jacobi, fill=False, color=COLOURS[1], linestyle="--"))
    axis.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")
    finish_axes(axis, panel, view.units)


def draw_grid(axis, panel, grid, scale, half, speed, units):
    """One panel, with labels at its axes. Returns the image."""
    (density, values), (norm, lowest) = grid, scale
    colours = plt.get_cmap(COLOUR_MAPS[panel.quantity]).copy()
    colours.set_bad("0.82")
    shown = (np.maximum(values, norm.vmin) if panel.quantity in ("density", "phase")
             else np.where(density > lowest, values, np.nan))
    image = axis.imshow(shown, origin="lower", extent=panel.extent(half, speed), cmap=colours, norm=norm,
                        aspect="auto" if panel.quantity == "phase" else "equal",
                        interpolation="bilinear" if panel.quantity in ("density", "phase") else "nearest")
    finish_axes(axis, panel, units)
    if panel.quantity == "phase":
        axis.set_box_aspect(1)
    return image


def places_of(count, heights, most, bars=1):
    """Figure and axes, [row][view], of rows of these relative heights; more than `most` views stand in several blocks
    of these rows, with so many colour bars side by side."""
    rows = len(heights)
    blocks = -(-count // most)
    columns = -(-count // blocks)
    side = 2.6 if columns < 6 else 2.1
    width = side * columns + (1.9 if bars else 0.9) + (bars - 1 if blocks > 1 and bars else 0)
    figure, axes = plt.subplots(blocks * rows, columns, squeeze=False, layout="constrained",
                                figsize=(width, blocks * sum(side * part + 0.08 for part in heights) + 0.7),
                                gridspec_kw={"height_ratios": list(heights) * blocks})
    places = [[axes[block * rows + row][column] for block in range(blocks) for column in range(columns)]
              for row in range(rows)]
    for row in places:
        for number, axis in enumerate(row):
            axis.set_visible(number < count)
    return figure, places, columns


def titles(views, columns, once, of=""):
    """A title over each view, and one over all (None: none). once: one number of particles stands over all where it is
    the same. of: what stands behind this number."""
    counts = [len(view.mass) for view in views]
    if once and len(set(counts)) == 1 and len(views) > 1:
        return [view.title for view in views], count_text(counts[0]) + of
    between = ", " if columns < 3 else "\n"
    return [f"{view.title}{between}{count_text(count)}" for view, count in zip(views, counts)], None


def draw_views(views, panels, places, columns, drawn):
    """All panels, by drawn(axis, row, number), with titles and the labels at the edges of the blocks."""
    below = [panel.axes(views[0].units)[0] for panel in panels]
    for row in range(len(panels)):
        for number in range(len(views)):
            axis = places[row][number]
            drawn(axis, row, number)
            same_below = row + 1 < len(panels) and below[row + 1] == below[row]
            numbers = not same_below and (number + columns >= len(views) or len(set(below)) > 1)
            axis.tick_params(labelbottom=numbers, labelleft=number % columns == 0)
            if not numbers:
                axis.set_xlabel("")
            if number % columns:
                axis.set_ylabel("")


def add_bars(figure, views, panels, places, images, columns):
    """A colour bar for each quantity. Of one block each bar is beside its rows; of several blocks all bars stand beside
    the whole."""
    few = len(views) <= columns
    several = not few and len(images) > 1
    for quantity, image in reversed(images.items()):   # the last one is the nearest to the panels
        mine = [row for row, panel in enumerate(panels) if panel.quantity == quantity]
        beside = [axis for row in (mine if few else range(len(panels))) for axis in places[row]]
        figure.colorbar(image, ax=beside, label=panels[mine[0]].label(views[0].units), pad=0.02,
                        extend={"density": "min", "phase": "min", "velocity": "both"}.get(quantity, "max"),
                        shrink=(0.8 if len(mine) > 1 else 0.95) if few else 0.6 if several else 1,
                        aspect=20 if few else 50 if several else 40)
    return several


def figure_of_points(views, panels, half, most=7, once=True, of=""):
    """As figure_of_maps, with the particles as points."""
    heights = heights_of(views, panels, half)
    figure, places, columns = places_of(len(views), heights, most, 0)
    over, above = titles(views, columns, once, of)
    mass = np.concatenate([view.mass for view in views])
    mean = float(mass.mean()) or 1.0

    def drawn(axis, row, number):
        draw_points(axis, panels[row], views[number], half, mean)
        crop(axis, half, heights[row])
        if row == 0:
            axis.set_title(over[number], fontsize=10)

    draw_views(views, panels, places, columns, drawn)
    said = [above or of.strip(" ,")] if above or of else []
    said += ["area of a point by mass"] if np.ptp(mass) > 1e-3 * mean else []
    said += ["dashed: Jacobi radius"] if any(view.jacobi for view in views) else []
    if said:
        lines = said if len(", ".join(said)) > 11 * figure.get_figwidth() else [", ".join(said)]
        figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10)
    return figure


def figure_of_maps(views, panels, half, speed=1.0, pixels=400, decades=4, most=7, once=True, of=""):
    """A figure with a column for each view and a row for each panel, in blocks of at most `most` columns; `once` and
    `of` as of titles. None: there is no mass in it."""
    grids = [grids_of(view, panels, half, speed, pixels) for view in views]
    scales = scales_of(panels, grids, decades)
    if scales is None:
        return None
    heights, images = heights_of(views, panels, half), {}
    figure, places, columns = places_of(len(views), heights, most, len({panel.quantity for panel in panels}))
    over, above = titles(views, columns, once, of)

    def drawn(axis, row, number):
        panel = panels[row]
        images[panel.quantity] = draw_grid(axis, panel, grids[number][row], scales[row], half, speed,
                                           views[number].units)
        if heights[row] < 1:
            crop(axis, half, heights[row])
        if row == 0:
            axis.set_title(over[number], fontsize=10)

    draw_views(views, panels, places, columns, drawn)
    several = add_bars(figure, views, panels, places, images, columns)
    if above or of:
        figure.suptitle(above or of.strip(" ,"), x=0.01, ha="left", fontsize=10)
    if several:   # a second layout of several bars would shift the panels beyond the edge
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def draw_map(axis, view, quantity="density", plane="xy", half=None, speed=None, pixels=256, decades=4):
    """One map, or one picture of phase space, with its colour scale. Returns the image; None: there is no mass in
    it."""
    panel = Panel(quantity, plane)
    half = half or 1.05 * view.extent() or 1.0
    speed = speed or (1.05 * view.speed() if quantity == "phase" else 0.0) or 1.0
    grid = grids_of(view, [panel], half, speed, pixels)
    scales = scales_of([panel], [grid], decades)
    if scales is None:
        return None
    image = draw_grid(axis, panel, grid[0], scales[0], half, speed, view.units)
    axis.set_title(titles([view], 1, False)[0][0], fontsize=10)
    axis.figure.colorbar(image, ax=axis, label=panel.label(view.units),
                         extend="both" if quantity == "velocity" else "neither", pad=0.02)
    return image


def density_axes(axis, units):
    """Labels of a density profile."""
    unit = f"{units.mass} {units.length}$^{{-3}}$" if units.length else ""
    axis.set(xlabel=Units.label("radius", units.length), ylabel=Units.label("density", unit))


def draw_profile(axis, radius, mass, units, bins=40, **style):
    """Density against radius."""
    axis.loglog(*profile(radius, mass, bins), **style)
    density_axes(axis, units)


def draw_lagrangian(axis, time, radii, units, fractions=FRACTIONS, legend=True):
    """Lagrangian radii [time][fraction] against time in internal units."""
    time = np.asarray(time, dtype=float) * units.fit_times(time).time_size
    radii = np.asarray(radii, dtype=float)
    for number, (fraction, colour) in enumerate(zip(fractions, ordered_colours(len(fractions))[::-1])):
        axis.plot(time, np.where(radii[:, number] > 0, radii[:, number], np.nan), "o-" if len(time) <= 60 else "-",
                  markersize=4, color=colour, label=f"{100 * fraction:.3g} %")
    axis.set_yscale("log")
    axis.set(xlabel=Units.label("time", units.time_unit), ylabel=Units.label("radius", units.length),
             title="Lagrangian radii")
    if legend:
        handles, labels = axis.get_legend_handles_labels()
        legend_beside(axis, handles=handles[::-1], labels=labels[::-1])


def radii_of(pos, mass, centre, fractions=FRACTIONS):
    """Lagrangian radii about a centre."""
    return lagrangian(np.linalg.norm(pos - centre, axis=1), mass, fractions)
