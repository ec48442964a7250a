#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A star cluster over time, from the snapshots of a run and, where they are there, its energy.csv and steps.csv:
Lagrangian radii about the density centre, core radius, density centre, energy error, neighbours, hard steps, bound
pairs; from its cluster.csv (Cluster = on), or without that table from snapshots, bound mass, half-mass radius of the
bound stars and Jacobi radius (from snapshots in a TidalField alone), velocity dispersion of systems as centres of mass
within the half-mass radius, binary fraction, binding energy in pairs, and mass segregation, which is the half-mass
radius of the heaviest stars over that of all, of as many as half a minute allows. Density centre
and core radius are the means of position and of distance from the centre, weighted by the density about each particle,
which is that of its five nearest neighbours within the distance of the sixth (Casertano & Hut 1985). True energies are
direct sums over the particles of the snapshots, without the errors that the potential of a tree has. Where pairs have
energy, the error is also drawn relative to the energy of systems as centres of mass, which is the total energy without
the binding energy in pairs. Hard pairs are
nearest neighbours of each other with a binding energy above the mean kinetic energy of single particles and of centres
of mass of bound pairs; isolated pairs are those that the run integrated by Kepler's equation (column binaries of
steps.csv); all pairs are those of cluster.csv, which a third body disturbs by a tenth of their binding at most."""
import argparse
import csv
import os

from plotting import (COLOURS, Help, Scale, Table, Units, add_output, amount, fail, lagrangian, legend_above, marks,
                      np, ordered_colours, outputs, plt, program, same_units, save, shown, start,
                      title_and_legend, type_list, writable, write_units)
from snapshots import Snapshot, add_most, add_snapshots, check_most, chosen_snapshots, evenly
from espalier_plots.cluster import NEIGHBOUR, cluster, core, densities, relaxation_time
from espalier_plots.multiples import nearest
from matplotlib.ticker import MaxNLocator

FRACTIONS = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9]
LEAST = 40                  # particles
AUTOMATIC_PAIRS = 4e9       # true energies are computed unasked where they take half a minute at most


def potential(pos, mass, softening):
    """Sum over pairs of m_i m_j / sqrt(r^2 + eps^2), without the gravitational constant."""
    x, total, rows = pos.T.copy(), 0.0, max(1, 2**18 // len(pos))
    for i in range(0, len(pos), rows):
        end = min(i + rows, len(pos))
        square = sum((x[c, i:end, None] - x[c, None, i:]) ** 2 for c in range(3)) + softening**2
        square[np.tril_indices(end - i, 0, end - i)] = np.inf   # itself, and pairs counted by another row
        with np.errstate(divide="ignore"):
            total += mass[i:end] @ ((1 / np.sqrt(square)) @ mass[i:])
    return total


def hard_pairs(pos, vel, mass, gravity, softening, index):
    """Number of hard pairs, as the head of this file defines them."""
    own = np.arange(len(pos))
    other = index[:, 0]
    mutual = (other[other] == own) & (own < other)
    i, j = own[mutual], other[mutual]
    both = mass[i] + mass[j]
    reduced = mass[i] * mass[j] / both
    inner = 0.5 * reduced * ((vel[i] - vel[j]) ** 2).sum(axis=1)
    rho = np.sqrt(((pos[i] - pos[j]) ** 2).sum(axis=1) + softening**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        energy = inner - gravity * mass[i] * mass[j] / rho
    moving = vel - np.average(vel, axis=0, weights=mass)
    kinetic = 0.5 * (mass * (moving**2).sum(axis=1)).sum() - inner[energy < 0].sum()
    return int((energy < -kinetic / (len(pos) - (energy < 0).sum())).sum())


class Moment:
    """What a snapshot shows."""

    def __init__(self, path, arguments, energies, bound=False):
        snapshot = Snapshot(path, arguments.types, arguments.partial, velocities=True)
        pos, mass = snapshot.all()
        vel = np.concatenate(list(snapshot.vel.values()))
        pos, vel, mass = pos[mass > 0], vel[mass > 0], mass[mass > 0]
        if len(pos) < LEAST:
            fail(f"{path} has {len(pos)} particles with mass, too few for radii that hold a hundredth of it: {LEAST} "
                 "are needed")
        index, distance = nearest(pos, NEIGHBOUR)
        found = core(pos, densities(mass, index, distance))
        if not found:
            fail(f"{path}: all particles are in one place")
        self.path, self.units, self.time, self.count, self.mass = (path, snapshot.units, snapshot.time, len(mass),
                                                                   mass.sum())
        self.gravity, self.softening, self.field_moves = snapshot.gravity, snapshot.softening, snapshot.field_moves
        self.centre, self.core = found
        self.radii = lagrangian(np.linalg.norm(pos - self.centre, axis=1), mass, FRACTIONS)
        self.energy = self.pairs = np.nan
        self.bound = None
        stated = self.gravity is not None and self.softening is not None
        if energies and snapshot.field_energy is None:
            fail(f"{path} does not state the energy in its external potential, which true energies need: "
                 "espalier run writes it since November 2026")
        if energies and not stated:
            fail(f"{path} does not state one softening length for all particles and the gravitational constant, which "
                 "true energies need")
        if stated and np.isfinite(vel).all() and not arguments.types and not snapshot.incomplete:
            self.pairs = hard_pairs(pos, vel, mass, self.gravity, self.softening, index)
            if bound and len(mass) ** 2 <= AUTOMATIC_PAIRS:
                self.bound = cluster(pos, vel, mass, np.arange(len(mass)), self.gravity, self.softening, snapshot.tide,
                                     snapshot.omega)
            if (energies or energies is None) and snapshot.field_energy is not None:
                self.energy = 0.5 * (mass * (vel**2).sum(axis=1)).sum() + snapshot.field_energy \
                    - self.gravity * potential(pos, mass, self.softening)
        elif energies:
            fail(f"{path}: true energies need the positions, velocities and masses of all particles")

    def relaxation(self):
        """Half-mass relaxation time (Spitzer 1987), ln(0.11 N) as Giersz & Heggie (1994); nan where it is not
        defined."""
        if self.gravity is None:
            return np.nan
        return relaxation_time(self.count, self.mass, self.radii[FRACTIONS.index(0.5)], self.gravity)


def add_mergers(moments, run, energy):
    """Energies of snapshots with what mergers of stars until then have taken out."""
    if energy is None or "energy_lost" not in energy or not energy["energy_lost"].any():
        return
    mergers = Table(os.path.join(run, "collisions.csv"), ["time", "energy_lost", "action"], words=("action",))
    lost = np.where(mergers.words["action"] == "merged", mergers["energy_lost"], 0)
    for moment in moments:
        moment.energy += lost[mergers["time"] <= moment.time].sum()


class Bound:
    """Bound mass, half-mass radius of the bound stars, and Jacobi radius with the mass within (nan where there is none)
    over time, of the run's table or of snapshots."""
    COLUMNS = ["time", "bound_mass", "half_mass_radius", "jacobi_radius", "jacobi_mass", "dispersion",
               "binary_fraction", "pairs", "binary_energy", "segregation"]

    def __init__(self, table, moments):
        known = [moment for moment in moments if moment.bound]
        for name in self.COLUMNS:
            values = [moment.time if name == "time" else moment.bound[name] for moment in known]
            if table:   # those of earlier versions have no dispersion
                values = table[name] if name in table else np.full(len(table["time"]), np.nan)
            setattr(self, name, np.asarray(values, dtype=float))
        self.known = bool(np.isfinite(self.half_mass_radius).any())

    def has(self, name):
        """Whether there is something to draw."""
        values = getattr(self, name)
        return bool((values[np.isfinite(values)] > 0).any())

    def at(self, time, name):
        """A number at a time of the table, else nan."""
        near = np.flatnonzero(np.isclose(self.time, time, rtol=1e-5, atol=1e-12))   # units of tables have six digits
        return getattr(self, name)[near[-1]] if len(near) else np.nan


def tell_bound(moments):
    """Why bound stars are not drawn of all snapshots."""
    known, first = sum(moment.bound is not None for moment in moments), moments[0]
    if known < len(moments) and first.count ** 2 * len(moments) > AUTOMATIC_PAIRS:
        print(f"bound stars: of {known} of {len(moments)} snapshots, since sums over all pairs of {first.count} stars "
              "take long; a run with [Output] Cluster = on writes them")
    elif known == 0:
        print(f"bound stars are not drawn: {first.path} has to state one softening length for all particles and the "
              "gravitational constant, and needs all particles with their velocities")


def read(arguments):
    """What the snapshots show, by time; the run's tables, or None; the bound stars."""
    chosen = chosen_snapshots(arguments)
    folders = {os.path.dirname(path) for path in chosen}
    energies = {"on": True, "off": False, "auto": None}[arguments.true_energies]
    moments = []
    run = folders.pop() if len(folders) == 1 else None
    there = run is not None and os.path.exists(os.path.join(run, "cluster.csv"))
    for number, path in enumerate(chosen):
        affordable = len(chosen) if not moments else max(int(AUTOMATIC_PAIRS // moments[0].count ** 2), 1)
        some = number in evenly(range(len(chosen)), affordable)
        moments.append(Moment(path, arguments, energies, some and not there))
        if energies is None and len(chosen) * moments[0].count ** 2 / 2 > AUTOMATIC_PAIRS:
            energies = False
            moments[0].energy = np.nan
    if not there:
        tell_bound(moments)
    moments.sort(key=lambda moment: moment.time)
    tables = {}
    for name, needed in (("energy", ["time", "total"]), ("steps", ["step", "time"]), ("cluster", ["time"])):
        path = None if run is None else os.path.join(run, name + ".csv")
        tables[name] = Table(path, needed) if path and os.path.exists(path) else None
    add_mergers(moments, run, tables["energy"])
    same_units(moments + [table for table in tables.values() if table])
    name = os.path.basename(os.path.abspath(run)) if run is not None else f"{len(moments)} snapshots"
    return name, moments, tables["energy"], tables["steps"], Bound(tables["cluster"], moments)


def draw_radii(axis, moments, bound, scale):
    time = [moment.time * scale.size for moment in moments]
    style = marks(len(moments))
    for number, (fraction, colour) in enumerate(zip(FRACTIONS, ordered_colours(len(FRACTIONS))[::-1])):
        axis.plot(time, [moment.radii[number] for moment in moments], color=colour, label=f"{100 * fraction:.0f} %",
                  **style)
    axis.plot(time, [moment.core for moment in moments], "--", color="#000000", label="core", **style)
    for name, label, line, colour in (("half_mass_radius", "bound, 50 %", (0, (3, 2)), COLOURS[5]),
                                      ("jacobi_radius", "Jacobi", ":", COLOURS[2])):
        values = getattr(bound, name)
        if np.isfinite(values).any():
            axis.plot(bound.time * scale.size, values, linestyle=line, color=colour, label=label, linewidth=2, zorder=5)
    axis.set_yscale("log")
    axis.set_ylabel(Units.label("radius", scale.length))
    title_and_legend(axis, "Lagrangian radii and core radius", 5)


def draw_bound(axis, bound, units, scale):
    time = bound.time * scale.size
    style = marks(len(time))
    axis.plot(time, bound.bound_mass, color=COLOURS[0], label="bound", **style)
    if np.isfinite(bound.jacobi_mass).any():
        axis.plot(time, bound.jacobi_mass, "--", color=COLOURS[1], label="in Jacobi", **style)
    axis.set(title="bound mass", ylabel=Units.label("mass", units.mass if scale.length else ""))
    low, high = (end([bound.bound_mass, bound.jacobi_mass]) for end in (np.nanmin, np.nanmax))
    if low > 0.7 * high:   # a small loss is seen
        axis.set_ylim(max(0, low - max(0.3 * (high - low), 0.01 * high)), high + max(0.1 * (high - low), 0.004 * high))
    else:
        axis.set_ylim(0, 1.08 * high)
    legend_above(axis)


def draw_centre(axis, moments, scale):
    time = [moment.time * scale.size for moment in moments]
    for number, (name, line) in enumerate(zip("xyz", ("-", "--", ":"))):
        axis.plot(time, [moment.centre[number] for moment in moments], line, label=name, **marks(len(moments)))
    axis.set(title="density centre", ylabel=Units.label("position", scale.length))
    legend_above(axis)


def errors(values):
    """Relative errors to the first value."""
    values = np.asarray(values)
    return (values - values[0]) / abs(values[0]) if values[0] != 0 else values


def of_centres(energy, bound):
    """Energy of systems as centres of mass at the start over the total one, in amount; nan where pairs have none."""
    inner = bound.at(energy["time"][0], "binary_energy")
    total = energy.conserved_energy()[0]
    return abs((total - inner) / total) if inner < 0 and total != 0 else np.nan


def draw_errors(axis, moments, energy, bound, scale):
    """|dE/E| of the table, and that of the snapshots; returns what the terminal says about them."""
    said = []
    if any(moment.field_moves for moment in moments):
        axis.set(title="energy error", yticks=[])
        axis.text(0.5, 0.5, "the external potential moves:\nthe energy is not conserved", ha="center", va="center",
                  transform=axis.transAxes)
        return ["none, since the external potential moves"]
    if energy:
        error = np.abs(errors(energy.conserved_energy()))
        axis.semilogy(energy["time"] * scale.size, np.where(error > 0, error, np.nan), color=COLOURS[0],
                      label="energy.csv")
        said.append(f"{np.nanmax(error):.2e} (energy.csv)")
        part = of_centres(energy, bound)
        if 0 < part < 0.9:
            axis.semilogy(energy["time"] * scale.size, np.where(error > 0, error / part, np.nan), color=COLOURS[2],
                          linewidth=1, label="of centres of mass")
            said.append(f"{np.nanmax(error) / part:.2e} of the energy of centres of mass")
    known = [moment for moment in moments if np.isfinite(moment.energy)]
    if len(known) > 1:
        error = np.abs(errors([moment.energy for moment in known]))
        axis.semilogy([moment.time * scale.size for moment in known], np.where(error > 0, error, np.nan),
                      linestyle="none", marker="o", markersize=3.5, color=COLOURS[1], label="true")
        said.append(f"{error.max():.2e} (true)")
    axis.set(ylabel=r"$|\Delta E / E_0|$")
    title_and_legend(axis, "energy error", 2)
    return said


def draw_pairs(axis, moments, steps, bound, scale):
    if bound.has("pairs"):
        axis.plot(bound.time * scale.size, bound.pairs, color="#000000", label="all")
    if steps and "binaries" in steps:
        axis.step(steps["time"] * scale.size, steps["binaries"], where="post", color=COLOURS[0],
                  label="isolated: by Kepler's equation")
    known = [moment for moment in moments if np.isfinite(moment.pairs)]
    if known:
        axis.plot([moment.time * scale.size for moment in known], [moment.pairs for moment in known], linestyle="none",
                  marker="o", markersize=3.5, color=COLOURS[1], label="hard: above the kinetic energy")
    axis.set(ylabel="number")
    top = max(1.2, 1.04 * axis.get_ylim()[1])
    axis.set_ylim(-0.04 * top, top)
    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    title_and_legend(axis, "bound pairs", 1)


def draw_bodies(axis, bound, units, scale, name):
    """A panel of a number of the bound systems."""
    title, label = OF_BODIES[name]
    unit = (units.velocity if scale.length else "") if name == "dispersion" else ""
    values = getattr(bound, name)
    axis.plot(bound.time * scale.size, values, **marks(len(values)))
    axis.set(title=title, ylabel=Units.label(label, unit), ylim=(0, 1.08 * np.nanmax(values)))
    if name == "segregation":
        axis.set_ylim(0, 1.08 * max(np.nanmax(values), 1))
        axis.axhline(1, color="0.6", linewidth=0.8)


def draw_binding(axis, bound, units, scale):
    """Binding energy in pairs: its change, since that of the closest pairs is most of it."""
    values = -bound.binary_energy * units.energy_size
    known = values[np.isfinite(values)]
    axis.plot(bound.time * scale.size, values - known[0], **marks(len(values)))
    unit = units.energy if scale.length else ""
    axis.set(title=f"binding energy in pairs,\n{amount(known[0])} at the start", ylabel=Units.label("change", unit))


def draw_column(axis, steps, scale, name):
    """A panel of a column of steps.csv."""
    title, label = COLUMNS[name]
    values = steps[name]
    axis.plot(steps["time"] * scale.size, values, **marks(len(values)))
    axis.set(title=title, ylabel=label, ylim=(0, 1.08 * np.nanmax(values)))


COLUMNS = {"neighbours": ("neighbours", "entries of a list, mean"),
           "hard_steps": ("hard steps", "particle steps / soft step")}
OF_BODIES = {"dispersion": ("dispersion of systems", "dispersion per axis"),
             "binary_fraction": ("binary fraction", "systems / bodies"),
             "segregation": ("mass segregation", "half-mass radius,\nheaviest / all")}


def panels(moments, energy, steps, bound, scale, said):
    """Functions that draw the panels beside the radii, in their order."""
    result = []
    if energy or sum(np.isfinite(moment.energy) for moment in moments) > 1:
        result.append(lambda axis: said.extend(draw_errors(axis, moments, energy, bound, scale)))
    result += [lambda axis, name=name: draw_column(axis, steps, scale, name) for name in COLUMNS
               if steps and name in steps and (steps[name] > 0).any()]
    if (steps and "binaries" in steps) or any(np.isfinite(moment.pairs) for moment in moments):
        result.append(lambda axis: draw_pairs(axis, moments, steps, bound, scale))
    if (bound.binary_energy < 0).any():
        result.append(lambda axis: draw_binding(axis, bound, moments[0].units, scale))
    result += [lambda axis, name=name: draw_bodies(axis, bound, moments[0].units, scale, name) for name in OF_BODIES
               if bound.has(name)]
    return result


def draw(name, moments, energy, steps, bound, paths):
    scale, said = Scale(moments[0]), []
    beside = panels(moments, energy, steps, bound, scale, said)
    columns = -(-len(beside) // (4 if len(beside) > 6 else 3))
    height = 8.4 if bound.known else 7.4
    figure = plt.figure(figsize=(4.8 + 3.2 * columns, max(height, 2.2 * -(-len(beside) // max(columns, 1)))),
                        layout="constrained")
    grid = figure.add_gridspec(1, 1 + columns, width_ratios=[1.45] + [1] * columns)
    heights = [2, 0.8, 1] if bound.known else [2, 1]
    left = [figure.add_subplot(part) for part in grid[0].subgridspec(len(heights), 1, height_ratios=heights)]
    draw_radii(left[0], moments, bound, scale)
    if bound.known:
        draw_bound(left[1], bound, moments[0].units, scale)
    draw_centre(left[-1], moments, scale)
    for number, function in enumerate(beside):
        rows = -(-len(beside) // max(columns, 1))
        place = number % rows
        if place == 0:
            column = grid[1 + number // rows].subgridspec(rows, 1)
        axis = figure.add_subplot(column[place])
        function(axis)
    for axis in figure.axes:
        axis.set_xlabel(Units.label("time", scale.time))
        axis.set_xlim(*ends([moment.time * scale.size for moment in moments], steps, energy, scale))
    first, relaxation = moments[0], moments[0].relaxation()
    begin = f"half-mass relaxation time {scale.time_text(relaxation)} at the start" if np.isfinite(relaxation) else ""
    figure.suptitle("\n".join(filter(None, [f"{shown(name)}: {first.count} particles, {scale.text}", begin])), x=0.01,
                    ha="left", fontsize=11)
    save(figure, paths)
    least = min(moments, key=lambda moment: moment.core)
    length = f" {scale.length}" if scale.length else ""
    print("; ".join(filter(None, [begin, f"core radius {first.core:.4g}{length} at the start, least "
                                  f"{least.core:.4g}{length} at time {scale.time_text(least.time)}",
                                  "largest |dE/E| " + ", ".join(said) if said else ""])))


def write_table(path, moments, bound):
    """A row for each snapshot; numbers of the bound stars are those of its time."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        write_units(file, moments[0].units, moments[0].gravity)
        table = csv.writer(file)
        table.writerow(["time", *(f"r_{100 * f:02.0f}" for f in FRACTIONS), "core_radius", "centre_x", "centre_y",
                        "centre_z", "hard_pairs", "energy", *Bound.COLUMNS[1:]])
        for moment in moments:
            values = [*moment.radii, moment.core, *moment.centre, moment.pairs, moment.energy,
                      *(bound.at(moment.time, name) for name in Bound.COLUMNS[1:])]
            table.writerow([repr(float(moment.time)), *(f"{x:.9g}" if np.isfinite(x) else "" for x in values)])


def ends(times, steps, energy, scale):
    """The same limits of time for all panels."""
    for table in (steps, energy):
        if table:
            times = times + [table["time"][0] * scale.size, table["time"][-1] * scale.size]
    low, high = min(times), max(times)
    margin = 0.02 * (high - low) or 0.5
    return low - margin, high + margin


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    add_snapshots(parser)
    add_output(parser, "cluster.png")
    parser.add_argument("--types", type=type_list, metavar="T,T", help="particle types, 0 to 5 (default: all)")
    parser.add_argument("--true-energies", choices=["auto", "on", "off"], default="auto",
                        help="direct sums over snapshots; auto: where they take half a minute at most (default: "
                             "%(default)s)")
    parser.add_argument("--table", metavar="FILE.csv", help="write the numbers of the snapshots")
    add_most(parser, 400)
    arguments = parser.parse_args()
    check_most(parser, arguments, 100000)
    paths = outputs(arguments.output, "cluster.png")
    if arguments.table:
        writable(arguments.table)
    found = read(arguments)
    if arguments.table:
        write_table(arguments.table, found[1], found[-1])
    draw(*found, paths)


if __name__ == "__main__":
    start(main)
