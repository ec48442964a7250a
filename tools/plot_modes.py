#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bars and spirals of a disc: its Fourier modes A_m / A_0 = |sum of mass exp(i m phi)| / sum of mass, m = 1 to 6,
within a radius (--within) against time and by radius, and the pattern speed of m = 2. The pattern speed is the change
of its phase from one snapshot to the next, and at each snapshot that of the velocities (Dehnen, Semczuk and Aerssens
2023), which also says how often the bar has turned between two snapshots. N particles without any mode have A_m / A_0
of about N^-1/2; pattern speeds where A_2 is less than four times that are faint. Of the folder of a run also A_2 and
pattern speed of its analysis.csv are drawn, where it has them."""
import csv
import os

import discs
from plotting import (COLOURS, TYPES, Table, Units, count_text, fail, legend_beside, np, outputs, plt, positive, save,
                      start, title_and_legend, write_units)
from espalier_plots.galaxy import MODES, pattern_speed
from espalier_plots.style import WIDTH

CLEAR = 4   # times N^-1/2: A_2 of a pattern whose speed is drawn
CURVES = 6   # more times are a map of radius against time
TWO = MODES.index(2)
# colour, marker and width of the line of each mode
STYLES = {1: (COLOURS[0], "v", 1.2), 2: (COLOURS[1], "o", 2.2), 3: (COLOURS[2], "^", 0.6), 4: (COLOURS[3], "D", 1.6),
          5: (COLOURS[4], "<", 0.6), 6: (COLOURS[6], "s", 1.2)}


class Bar:
    """Modes at one time: within the radius, by ring, speed of m = 2 from the velocities, particles within."""

    def __init__(self, disc, radius, edges):
        rows = disc.of(disc.type)
        self.strength, self.phase = disc.modes(outer=radius)
        self.rings = disc.mode_rings(edges=edges)
        self.ring_counts = np.histogram(np.hypot(*disc.pos[rows, :2].T), edges)[0]
        self.count = int((np.hypot(*disc.pos[rows, :2].T) < radius).sum())
        self.speed = disc.speed(outer=radius)

    def clear(self):
        return self.strength[TWO] > CLEAR / np.sqrt(max(self.count, 1))


class History:
    """A_2 and pattern speed of the disc in a run's analysis.csv."""

    def __init__(self, path, kind, moments):
        table = Table(path, ["time", "type", "count", "bar_strength", "bar_phase"])
        rows = table["type"] == kind
        time, strength, phase, count = (table[name][rows] for name in ("time", "bar_strength", "bar_phase", "count"))
        rows = np.append(np.diff(time) > 0, True) if len(time) else np.zeros(0, bool)   # a restart may repeat one
        self.time, self.strength, phase, count = time[rows], strength[rows], phase[rows], count[rows]
        clear = self.strength > CLEAR / np.sqrt(np.maximum(count / 2, 1))
        known = [moment for moment in moments if moment.found.clear()]
        self.middle = self.speed = np.zeros(0)
        if len(self.time) > 1 and known:
            guesses = np.interp(self.time, [m.time for m in known], [m.found.speed for m in known])
            self.middle, self.speed = pattern_speed(self.time, phase, guesses)
            self.speed = np.where(clear[1:] & clear[:-1], self.speed, np.nan)


def history_of(arguments, kind, moments):
    """That of the one folder that is named, or None."""
    path = os.path.join(arguments.snapshots[0], "analysis.csv")
    if len(arguments.snapshots) != 1 or arguments.follow or not os.path.isfile(path) or len(moments) < 2:
        return None
    found = History(path, kind, moments)
    return found if len(found.time) > 1 else None


def speeds(moments):
    """Middle times and pattern speeds between the snapshots where the bar is clear at both ends, else nan."""
    if len(moments) < 2:
        return np.zeros(0), np.zeros(0)
    middle, speed = pattern_speed([moment.time for moment in moments], [m.found.phase[TWO] for m in moments],
                                  [m.found.speed for m in moments])
    clear = np.array([moment.found.clear() for moment in moments])
    return middle, np.where(clear[1:] & clear[:-1], speed, np.nan)


def speed_label(units):
    return Units.label("pattern speed", f"{units.velocity}/{units.length}" if units.length else "")


def mode_style(m, marked=True):
    colour, marker, width = STYLES[m]
    return {"color": colour, "marker": marker if marked else "", "linewidth": width,
            "markersize": 2.5 if width < 1 else 3.5, "label": f"m = {m}"}


def draw_modes(axis, moments, history, title, columns):
    """All modes against time."""
    units = moments[0].units
    time = np.array([moment.time for moment in moments]) * units.time_size
    strengths = np.array([moment.found.strength for moment in moments])
    for k, m in enumerate(MODES):
        axis.plot(time, strengths[:, k], **mode_style(m, len(time) <= 60))
    if history:   # the last one of the legend, since it is long
        axis.plot(history.time * units.time_size, history.strength, color="0.6", linewidth=1, zorder=1.5,
                  label="m = 2 within $r_{50}$ of each time (analysis.csv)")
    noise = np.mean([moment.found.count for moment in moments]) ** -0.5
    axis.axhline(noise, color="0.3", linewidth=1, linestyle=":", label="$N^{-1/2}$")
    axis.axhline(CLEAR * noise, color="0.3", linewidth=1, linestyle="--", label=f"${CLEAR} N^{{-1/2}}$")
    discs.few_times(axis)
    axis.set(xlabel=Units.label("time", units.time_unit), ylabel="$A_m/A_0$")
    axis.set_ylim(bottom=0)
    title_and_legend(axis, title, columns)


def draw_speeds(axis, moments, middle, speed, history):
    """Pattern speeds against time."""
    units = moments[0].units
    known = [moment for moment in moments if moment.found.clear()]
    rest = [moment for moment in moments if not moment.found.clear()]
    if history and len(history.speed):
        axis.plot(history.middle * units.time_size, history.speed, color="0.6", linewidth=1, label="of analysis.csv")
    axis.plot(middle * units.time_size, speed, "o-", markersize=3.5, color=COLOURS[TWO], label="phases")
    axis.plot([m.time * units.time_size for m in known], [m.found.speed for m in known], "s", markersize=4.5,
              markerfacecolor="none", color=COLOURS[6], label="velocities")
    shown = np.concatenate([speed[np.isfinite(speed)], [m.found.speed for m in known]])
    low, high = min(0, 1.2 * shown.min()), max(0, 1.3 * shown.max())
    rest = [moment for moment in rest if low < moment.found.speed < high]
    if rest:
        axis.plot([m.time * units.time_size for m in rest], [m.found.speed for m in rest], ".", color="0.7",
                  label=f"velocities, $A_2/A_0$ below ${CLEAR} N^{{-1/2}}$", zorder=1)
    discs.few_times(axis)
    axis.set(xlabel=Units.label("time", units.time_unit), ylabel=speed_label(units), ylim=(low, high))
    title_and_legend(axis, "pattern speed of $m = 2$", 3 if len(axis.get_legend_handles_labels()[0]) < 4 else 2)


def draw_rings(figure, axis, moments, radius, outer):
    """By radius: all modes of one time, or m = 2 of several."""
    units = moments[0].units
    if len(moments) == 1:
        where, strengths = moments[0].found.rings
        good = np.isfinite(where)
        for k, m in enumerate(MODES):
            axis.plot(where[good], strengths[good, k], **mode_style(m))
        axis.plot(where[good], moments[0].found.ring_counts[good] ** -0.5, color="0.3", linewidth=1, linestyle=":",
                  label="$N^{-1/2}$")
        axis.set(ylabel="$A_m/A_0$")
        legend_beside(axis)
    else:
        colours = discs.time_colours(moments)
        for moment, colour in zip(moments, colours):
            where, strengths = moment.found.rings
            good = np.isfinite(where)
            axis.plot(where[good], strengths[good, TWO], color=colour)
        axis.set(title="$m = 2$ by radius", ylabel="$A_2/A_0$")
        discs.time_key(figure, axis, [axis], moments, colours)
    axis.axvline(radius, color="0.5", linewidth=1, linestyle=":")
    axis.set(xlabel=Units.label("R", units.length), xlim=(0, outer))
    axis.set_ylim(bottom=0)


def draw_map(figure, axis, moments, radius, edges):
    """m = 2 of many times: radius against time."""
    units = moments[0].units
    time = np.array([moment.time for moment in moments]) * units.time_size
    middle = 0.5 * (time[1:] + time[:-1])
    ends = np.concatenate([[2 * time[0] - middle[0]], middle, [2 * time[-1] - middle[-1]]])
    values = np.array([moment.found.rings[1][:, TWO] for moment in moments]).T
    colours = plt.get_cmap(WIDTH).copy()
    colours.set_bad("0.82")   # too few particles
    most = np.nanmax(values) if np.isfinite(values).any() else 1.0
    image = axis.pcolormesh(ends, edges, np.ma.masked_invalid(values), cmap=colours, vmin=0, vmax=most)
    axis.axhline(radius, color="w", linewidth=1, linestyle=":")
    axis.grid(False)
    discs.few_times(axis)
    axis.set(title="$m = 2$ by radius", xlabel=Units.label("time", units.time_unit),
             ylabel=Units.label("R", units.length))
    figure.colorbar(image, ax=axis, label="$A_2/A_0$", pad=0.02)


def places(panels):
    """A figure with so many panels; of three the first one is over the others."""
    figure = plt.figure(figsize={1: (7.2, 4.2), 2: (10.4, 4.6), 3: (9.6, 7.4)}[panels], layout="constrained")
    grid = figure.add_gridspec(2 if panels == 3 else 1, min(panels, 2))
    cells = {1: [grid[0, 0]], 2: [grid[0, 0], grid[0, -1]], 3: [grid[0, :], grid[-1, 0], grid[-1, -1]]}[panels]
    return figure, [figure.add_subplot(cell) for cell in cells]


def draw(moments, reader, radius, history):
    """The page: panels that would be empty are left out."""
    units, several = moments[0].units, len(moments) > 1
    middle, speed = speeds(moments)
    clear = sum(moment.found.clear() for moment in moments)
    moving = 2 * clear >= len(moments) and clear + np.isfinite(speed).sum() > 2   # else the terminal has the few values
    panels = 1 + several + moving
    figure, axes = places(panels)
    number = count_text(np.mean([moment.found.count for moment in moments]))
    within = f"R < {radius:.3g} {units.length}".rstrip()
    if several:
        draw_modes(axes[0], moments, history, f"modes within {within}", 5 if panels == 3 else 3)
        if moving:
            draw_speeds(axes[1], moments, middle, speed, history)
            axes[1].set_xlim(axes[0].get_xlim())
    if len(moments) > CURVES:
        draw_map(figure, axes[-1], moments, radius, np.linspace(0, reader.outer, reader.arguments.rings + 1))
    else:
        draw_rings(figure, axes[-1], moments, radius, reader.outer)
    if not several:
        axes[0].set_title(moments[0].text)
    figure.suptitle(f"type {reader.type} ({TYPES[reader.type]}), {number} within {within}", x=0.01, ha="left",
                    fontsize=10)
    return figure, middle, speed


def tell(moments, speed, radius):
    """One line for each snapshot on the terminal."""
    units = moments[0].units
    unit = f" {units.velocity}/{units.length}" if units.length else ""
    for k, moment in enumerate(moments):
        bar = moment.found
        text = f"{moment.text}: A_2/A_0 = {bar.strength[TWO]:.4g} within {radius:.4g} {units.length}".rstrip()
        if not bar.clear():
            text += f", less than {CLEAR} times the noise of {bar.count**-0.5:.2g}: no pattern speed"
        else:
            text += f", pattern speed {bar.speed:.4g}{unit} by velocities"
            if k and np.isfinite(speed[k - 1]):
                text += f", {speed[k - 1]:.4g} since the snapshot before"
        print(text)
    if len(moments) == 1:
        print("a pattern speed by phases, and modes against time, need two snapshots or more")


def write_table(path, moments, reader, radius, speed):
    """One row for each time within the radius (R is empty), then one for each ring."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        write_units(file, moments[0].units, moments[0].gravity)
        table = csv.writer(file)
        table.writerow(["time", "type", "R", "within", "count", *(f"A_{m}" for m in MODES), "phase_2",
                        "speed_velocities", "speed_since_before"])
        for k, moment in enumerate(moments):
            bar = moment.found
            since = speed[k - 1] if k and np.isfinite(speed[k - 1]) else None
            table.writerow([repr(float(moment.time)), reader.type, "", f"{radius:.9g}", bar.count,
                            *(f"{x:.9g}" for x in bar.strength), f"{bar.phase[TWO]:.9g}", f"{bar.speed:.9g}",
                            "" if since is None else f"{since:.9g}"])
            for where, strengths in zip(*bar.rings):
                if np.isfinite(where):
                    table.writerow([repr(float(moment.time)), reader.type, f"{where:.9g}", "", "",
                                    *(f"{x:.9g}" for x in strengths), "", "", ""])


def main():
    parser = discs.parser_of(__doc__, False)
    parser.add_argument("--within", type=positive, metavar="R",
                        help="radius of the modes against time (default: the disc's half-mass radius in the plane at "
                             "first)")
    arguments = discs.parsed(parser, 200)
    paths = outputs(arguments.output, "modes.png")

    def measure(disc, _, reader):
        return Bar(disc, arguments.within or reader.half, np.linspace(0, reader.outer, arguments.rings + 1))

    moments, reader = discs.measured(arguments, measure)
    same = next((pair for pair in zip(moments, moments[1:]) if pair[0].time == pair[1].time), None)
    if same:
        fail(f"{same[0].path} and {same[1].path} have the same time: expected snapshots of one run")
    radius = arguments.within or reader.half
    figure, _, speed = draw(moments, reader, radius, history_of(arguments, reader.type, moments))
    tell(moments, speed, radius)
    if arguments.table:
        write_table(arguments.table, moments, reader, radius, speed)
    save(figure, paths)


if __name__ == "__main__":
    start(main)
