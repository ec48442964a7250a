#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Discs by radius: surface density, the dispersions sigma_R, sigma_phi and sigma_z, Toomre's Q = kappa sigma_R / (3.36
G surface density) of each type by itself, and scale height, which is sqrt(12) / pi times the rms of z: that of
sech^2(z / height). One snapshot is drawn by particle type, Q and height of those that rotate as a disc does; of several
one type is drawn (--type) by time. kappa is that of the forces of all particles."""
import discs
from plotting import COLOURS, FEW_DECADES, TYPES, Units, legend_above, legend_on_top, np, outputs, plt, save, start
from snapshots import snapshot_paths

STYLES = {"sigma_R": ("-", r"$\sigma_R$"), "sigma_phi": ("--", r"$\sigma_\varphi$"), "sigma_z": (":", r"$\sigma_z$")}
DENSITY, Q, HEIGHT = "surface_density", "Q", "height"
OF_DISCS = (Q, HEIGHT)


def labels(units):
    """Title and label of the vertical axis of each panel."""
    dispersion = Units.label("dispersion", units.velocity)
    return {DENSITY: ("surface density", Units.label("surface density", units.surface)), Q: ("Toomre's Q", "Q"),
            HEIGHT: ("scale height", Units.label("height", units.length)),
            "sigmas": ("velocity dispersions", dispersion),
            **{name: (f"dispersion {text}", dispersion) for name, (_, text) in STYLES.items()}}


def draw_column(axis, moment, rings, name, colour, line="-", marked=True):
    good, size = np.isfinite(rings["R"]), moment.units.surface_size if name == DENSITY else 1.0
    marks = {"marker": "o", "markersize": 3} if marked and good.sum() <= 40 else {}
    axis.plot(rings["R"][good], rings[name][good] * size, line, color=colour, **marks)


def limit_q(axis):
    """Q of the middle of a disc: where there is little mass at its ends Q is large."""
    values = np.concatenate([line.get_ydata() for line in axis.lines])
    values = values[np.isfinite(values)]
    axis.set_ylim(0, min(1.1 * values.max(), max(4 * np.median(values), 2)) if len(values) else 2)
    axis.axhline(1, color="0.5", linewidth=1, zorder=1)


def finish(figure, panels, units, outer):
    """Titles, labels and limits."""
    below = max(axis.get_subplotspec().rowspan.stop for axis in panels.values())
    for name, axis in panels.items():
        title, label = labels(units)[name]
        axis.set(title=title, ylabel=label, xlim=(0, outer))
        if axis.get_subplotspec().rowspan.stop == below:
            axis.set_xlabel(Units.label("R", units.length))
        if name != DENSITY:
            axis.set_ylim(0, 1.05 * axis.get_ylim()[1])
    panels[DENSITY].set_yscale("log")
    low, high = panels[DENSITY].get_ylim()
    if 1e-5 < low and high < 1e5 and high > low * 10**FEW_DECADES:   # a shorter one has more numbers (log_ticks)
        panels[DENSITY].yaxis.set_major_formatter(plt.FuncFormatter(lambda x, _: f"{x:g}"))
    limit_q(panels[Q])


def one_time(moment, outer):
    """All types in four panels."""
    figure, axes = plt.subplots(2, 2, figsize=(9.6, 7.0), sharex=True, layout="constrained")
    panels = dict(zip((DENSITY, "sigmas", Q, HEIGHT), axes.flat))
    for kind, rings in moment.found.items():
        for name in (DENSITY, *(OF_DISCS if kind in moment.discs else ())):
            draw_column(panels[name], moment, rings, name, discs.type_colour(kind))
        for name, (line, _) in STYLES.items():
            draw_column(panels["sigmas"], moment, rings, name, discs.type_colour(kind), line, False)
    finish(figure, panels, moment.units, outer)
    legend_above(panels["sigmas"], handles=[plt.Line2D([], [], color="0.3", linestyle=line, label=text)
                                            for line, text in STYLES.values()])
    legend_on_top(figure, [plt.Line2D([], [], color=COLOURS[kind], label=discs.type_name(moment, kind))
                           for kind in moment.found], title=moment.text, most=4)
    return figure


def several_times(moments, outer):
    """One type in six panels."""
    figure, axes = plt.subplots(2, 3, figsize=(14.5, 7.0), sharex=True, layout="constrained")
    panels = dict(zip((DENSITY, Q, HEIGHT, *STYLES), axes.flat))
    colours = discs.time_colours(moments)
    for moment, colour in zip(moments, colours):
        for name, axis in panels.items():
            for rings in moment.found.values():
                draw_column(axis, moment, rings, name, colour)
    finish(figure, panels, moments[0].units, outer)
    highest = max(panels[name].get_ylim()[1] for name in STYLES)
    for name in STYLES:
        panels[name].set_ylim(0, highest)
    kind = next(iter(moments[-1].found))
    figure.suptitle(f"type {discs.type_name(moments[0], kind)}", x=0.01, ha="left", fontsize=10)
    discs.time_key(figure, panels[HEIGHT], axes.flat, moments, colours)
    return figure


def of_one_type(disc, moment, reader):
    """Of several times the disc alone."""
    moment.kinds = [disc.type]
    return discs.rings_of_types(disc, moment, reader)


def tell(moments):
    """The smallest Q on the terminal."""
    for moment in moments:
        for kind in moment.discs:
            rings = moment.found[kind]
            if np.isfinite(rings[Q]).any():
                k = int(np.nanargmin(rings[Q]))
                print(f"{moment.text}: type {kind} ({TYPES[kind]}): smallest Q {rings[Q][k]:.3g} at R "
                      f"{rings['R'][k]:.3g} {moment.units.length}".rstrip())


def main():
    parser = discs.parser_of(__doc__)
    arguments = discs.parsed(parser, 7)
    paths = outputs(arguments.output, "disc.png")
    several = min(len(snapshot_paths(arguments.snapshots)), arguments.most) > 1
    if several and arguments.types:
        parser.error("several snapshots are drawn for one type: give it as --type, and leave --types out")
    moments, reader = discs.measured(arguments, of_one_type if several else discs.rings_of_types)
    discs.tell_few(moments)
    tell(moments)
    if arguments.table:
        discs.write_rings(arguments.table, moments)
    save(several_times(moments, reader.outer) if several else one_time(moments[0], reader.outer), paths)


if __name__ == "__main__":
    start(main)
