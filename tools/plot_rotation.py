#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation curves: the mean velocity about the axis of the disc against radius, of each particle type, and the circular
velocity. The circular velocity is that of the forces of all softened particles in the plane of the disc, averaged over
the azimuth; of one snapshot also of each type alone. Several snapshots are compared, by type. The velocities are about
the centre of the stars, which a bulge determines (--centre chooses another one), and in the plane of the disc."""
import discs
from plotting import COLOURS, TYPES, Units, legend_beside, np, outputs, plt, save, start


def circular(moment, kind=None):
    """Radii within the picture, and v_c there of all types or of one, nan where it pulls outwards."""
    radii, parts = moment.field
    squared = sum(parts.values()) if kind is None else parts[kind]
    return radii, np.sqrt(np.where(squared > 0, squared, np.nan))


def draw_means(axis, rings, **style):
    """Mean velocities of rings with their standard errors."""
    good = np.isfinite(rings["R"])
    error = rings["sigma_phi"][good] / np.sqrt(rings["count"][good])
    axis.errorbar(rings["R"][good], rings["v_phi"][good], error, fmt="o-", markersize=3, elinewidth=1, **style)


def label(axis, units, title, outer):
    axis.set(xlabel=Units.label("R", units.length), ylabel=Units.label("velocity", units.velocity), title=title,
             xlim=(0, outer))
    axis.set_ylim(bottom=min(0, axis.get_ylim()[0]))


def one_time(moment, outer):
    """All types at one time."""
    figure, axis = plt.subplots(figsize=(8.6, 4.8), layout="constrained")
    handles = []
    for kind, rings in moment.found.items():
        draw_means(axis, rings, color=discs.type_colour(kind))
    for kind in moment.field[1]:
        axis.plot(*circular(moment, kind), ":", linewidth=1.2, color=discs.type_colour(kind))
        handles.append(plt.Line2D([], [], color=COLOURS[kind], linestyle="-" if kind in moment.found else ":",
                                  label=discs.type_name(moment, kind)))
    axis.plot(*circular(moment), "--", color="k")
    handles += [plt.Line2D([], [], color="0.3", marker="o", markersize=3.5, label="mean $v_\\varphi$,\nstandard error"),
                plt.Line2D([], [], color="k", linestyle="--", label="$v_c$"),
                plt.Line2D([], [], color="0.3", linestyle=":", linewidth=1.2, label="$v_c$ of one type")]
    label(axis, moment.units, f"rotation curve, {moment.text}", outer)
    legend_beside(axis, handles=handles)
    return figure


def several_times(moments, outer):
    """A panel for each type, and one for the circular velocity."""
    kinds = list(dict.fromkeys(kind for moment in moments for kind in moment.found))
    panels = len(kinds) + 1
    figure, axes = plt.subplots(1, panels, figsize=(min(4.0 * panels + 1.8, 17), 4.2), sharey=True, squeeze=False,
                                layout="constrained")
    colours = discs.time_colours(moments)
    for moment, colour in zip(moments, colours):
        for axis, kind in zip(axes[0], kinds):
            if kind in moment.found:
                rings = moment.found[kind]
                draw_means(axis, rings, color=colour)
        axes[0][-1].plot(*circular(moment), color=colour)
    for axis, kind in zip(axes[0], kinds):
        label(axis, moments[0].units, rf"mean $v_\varphi$ of type {kind} ({TYPES[kind]})", outer)
    label(axes[0][-1], moments[0].units, "circular velocity of all", outer)
    ticks = plt.MaxNLocator(7, steps=[1, 2, 5, 10]).tick_values(0, outer)
    for axis in axes[0]:   # without a number at the end, which would touch the first one of the next panel
        axis.set_xticks(ticks[ticks < 0.93 * outer])
    for axis in axes[0][1:]:
        axis.set_ylabel("")
    figure.suptitle("bars: standard errors of the means", x=0.01, ha="left", fontsize=10)
    discs.time_key(figure, axes[0][-1], axes[0], moments, colours)
    return figure


def main():
    parser = discs.parser_of(__doc__)
    arguments = discs.parsed(parser, 7)
    paths = outputs(arguments.output, "rotation.png")
    moments, reader = discs.measured(arguments, discs.rings_of_types)
    discs.tell_few(moments)
    if arguments.table:
        discs.write_rings(arguments.table, moments)
    save(several_times(moments, reader.outer) if len(moments) > 1 else one_time(moments[0], reader.outer), paths)


if __name__ == "__main__":
    start(main)
