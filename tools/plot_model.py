#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A model of a galaxy on one page: density, circular velocity and rotation, dispersions, Toomre's Q and distribution
functions. Lines are the tables of 'espalier ic galaxy --profile FILE.csv' (FILE_df.csv and FILE_discs.csv beside it),
points the particles of a snapshot of that model. The terminal has how far the points are from the lines."""
import argparse
import os
import re

from plotting import (Help, Table, Units, add_output, check_text, densest_centre, fail, legend_above, legend_on_top,
                      line_colours, np, outputs, plt, program, save, shown, start, warn)
from snapshots import Snapshot
from unit_systems import MODEL_POWERS, add_units

PROFILE = ("r", "density", "mass", "circular_velocity", "sigma_r")
DISCS = ("R", "surface_density", "circular_velocity", "rotation", "sigma_r", "sigma_phi", "sigma_z", "height",
         "toomre_q")
FLAT = 0.15   # anisotropy from which f of the energy alone is not f
LITTLE = 1e-4   # of a component's mass: within a smaller radius, and beyond, its lines are not drawn
HELD = 0.95     # of the mass of each component: in the panels


class Component:
    """A component: the rows of its table by column (`whole`), those that are drawn (`line`), and its particles."""

    def __init__(self, name, rows):
        part = rows["mass"] / rows["mass"][-1]
        shown = (part > LITTLE) & (part < 1 - LITTLE)
        self.name, self.whole, self.disc, self.df = name, rows, None, None
        self.line = {column: values[shown] for column, values in rows.items()} if shown.sum() > 3 else rows
        self.pos = self.vel = self.mass = None
        self.colour = "k"

    def value(self, column, radius):
        return np.interp(np.log(radius), np.log(self.whole["r"]), self.whole[column])

    def holds(self, part):
        """The radius that holds this part of the mass."""
        return float(np.interp(part * self.whole["mass"][-1], self.whole["mass"], self.whole["r"]))

    def half_mass_radius(self):
        return self.holds(0.5)


def grouped(table, columns):
    """Rows of a table by component, in the order of the file."""
    names = table.words["component"]
    return {name: {column: table[column][names == name] for column in columns} for name in dict.fromkeys(names)}


def beside(path, ending):
    stem = path[:-4] if path.endswith(".csv") else path
    return f"{stem}_{ending}.csv"


def has_rows(path):
    """Whether the table is there; without discs it may have no rows."""
    if not os.path.exists(path):
        return False
    check_text(path)
    with open(path, encoding="utf-8", errors="replace") as file:
        return sum(bool(line.strip()) and not line.startswith("#") for line in file) > 1


def read_lines(path):
    """Components by galaxy: [(total, [components])], and the table's units."""
    table = Table(path, PROFILE, words=("component",), powers=MODEL_POWERS)
    galaxies = []
    for name, rows in grouped(table, PROFILE).items():
        short = re.sub(r"^\d+\..*\.", "", name)
        if short == "total":
            galaxies.append((Component(name, rows), []))
        elif galaxies:
            galaxies[-1][1].append(Component(name, rows))
    if not galaxies or not all(parts for _, parts in galaxies):
        fail(f"{path} is no table of 'espalier ic galaxy --profile': it has no component 'total' and others after it")
    known = {part.name: part for _, parts in galaxies for part in parts}
    for ending, columns, attribute in (("discs", DISCS, "disc"), ("df", ("energy", "f"), "df")):
        if has_rows(beside(path, ending)):
            other = Table(beside(path, ending), columns, words=("component",), powers=MODEL_POWERS)
            for name, rows in grouped(other, columns).items():
                if name not in known:
                    fail(f"{beside(path, ending)}: component '{name}' is not in {path}")
                setattr(known[name], attribute, rows)
    return galaxies, table.units


def convert(galaxies, factors):
    """Lines of a table that states no units (those of earlier versions) in the units that are drawn."""
    for total, parts in galaxies:
        for one in (total, *parts):
            # the line may be the whole
            for rows in {id(rows): rows for rows in (one.whole, one.line, one.disc, one.df)}.values():
                for column in rows or ():
                    rows[column] = rows[column] * factors.column(column, MODEL_POWERS)


def frame(parts):
    """Positions and velocities about the centre of the most concentrated component, discs in the plane z = 0."""
    dense = min((p for p in parts if p.pos is not None), key=lambda p: p.half_mass_radius())
    centre = densest_centre(dense.pos, dense.mass)
    radius = np.linalg.norm(dense.pos - centre, axis=1)
    inner = radius <= np.median(radius)
    motion = np.average(dense.vel[inner], axis=0, weights=dense.mass[inner])
    for part in parts:
        if part.pos is not None:
            part.pos, part.vel = part.pos - centre, part.vel - motion
    spin = sum((np.cross(p.pos, p.vel).sum(axis=0) * p.mass[0] for p in parts if p.disc is not None and p.pos
                is not None), np.zeros(3))
    if np.linalg.norm(spin) > 0:
        up = spin / np.linalg.norm(spin)
        side = np.cross(up, [1.0, 0, 0] if abs(up[0]) < 0.9 else [0, 1.0, 0])
        side /= np.linalg.norm(side)
        turn = np.stack([side, np.cross(up, side), up])
        for part in parts:
            if part.pos is not None:
                part.pos, part.vel = part.pos @ turn.T, part.vel @ turn.T


def assign(path, galaxies, stated):
    """Give each component its particles: ids follow the order of the components, as 'espalier ic galaxy' writes them. A
    black hole, which has no line, is the particle that has what is missing in the mass of the components."""
    snapshot = Snapshot(path, velocities=True, ids=True)
    kinds = sorted(snapshot.pos)
    pos, mass, vel, ids = (np.concatenate([column[kind] for kind in kinds])
                           for column in (snapshot.pos, snapshot.mass, snapshot.vel, snapshot.ids))
    kind = np.concatenate([np.full(len(snapshot.mass[k]), k) for k in kinds])
    if not np.isfinite(vel).all():
        fail(f"{path} has no velocities")
    order = np.argsort(ids, kind="stable")
    pos, mass, vel, kind = pos[order], mass[order], vel[order], kind[order]
    if not stated:
        convert(galaxies, snapshot.factors)
    wanted = sum(total.whole["mass"][-1] for total, _ in galaxies)
    if abs(mass.sum() / wanted - 1) > 0.01:
        fail(f"{path} has particles of mass {mass.sum():.5g}, the model has {wanted:.5g}: is it of another model?")
    for total, parts in galaxies:
        hole = total.whole["mass"][0] - sum(part.whole["mass"][0] for part in parts if part.whole["r"][0]
                                            <= total.whole["r"][0] * 1.001)
        alone = np.flatnonzero(abs(mass / hole - 1) < 1e-3) if hole > 1e-9 * wanted else []
        if len(alone) == 1:
            pos, mass, vel, kind = (np.delete(column, alone, axis=0) for column in (pos, mass, vel, kind))
    sums, begin, expected = np.cumsum(mass), 0, 0.0
    parts = [part for _, members in galaxies for part in members]
    for part in parts:
        expected += part.whole["mass"][-1]
        end = int(np.searchsorted(sums, expected + 0.5 * mass[min(begin, len(mass) - 1)]))
        # the tables end shortly before the last of the mass: a change of type or mass nearby is the end
        reach = max(3, int(0.02 * (end - begin)))
        low, high = max(begin + 1, end - reach), min(len(mass), end + reach)
        changes = [k for k in range(low, high) if kind[k] != kind[k - 1] or abs(mass[k] / mass[k - 1] - 1) > 1e-6]
        end = len(mass) if part is parts[-1] else min(changes, key=lambda k: abs(k - end)) if changes else end
        part.pos, part.vel, part.mass = pos[begin:end], vel[begin:end], mass[begin:end]
        if end - begin < 40:
            part.pos = None
        begin, expected = end, sums[end - 1]
    return snapshot


def bins(radius, count, least=40):
    """Ends of shells or rings of equal ratio, each of which holds enough particles; they hold all but the outermost of
    them."""
    low, high = np.sort(radius)[[min(least, len(radius) - 1), -1 - min(least, len(radius) // 50)]]
    ends = np.geomspace(max(low, 1e-300), high, count + 1)
    number = np.histogram(radius, ends)[0]
    return [(a, b) for a, b, n in zip(ends[:-1], ends[1:], number) if n >= least]


def shells(part, count):
    """Radius, density, sigma_r, 1 - sigma_t^2 / sigma_r^2 of particles, and the density that the line has on average
    over each shell."""
    radius = np.linalg.norm(part.pos, axis=1)
    out = (part.pos * part.vel).sum(axis=1) / radius
    rows = []
    for a, b in bins(radius, count):
        mine = (radius >= a) & (radius < b)
        across = 0.5 * ((part.vel[mine] ** 2).sum(axis=1) - out[mine] ** 2).mean()
        volume = 4 / 3 * np.pi * (b**3 - a**3)
        rows.append((np.exp(np.log(radius[mine]).mean()), part.mass[mine].sum() / volume, out[mine].std(),
                     1 - across / (out[mine] ** 2).mean(), (part.value("mass", b) - part.value("mass", a)) / volume))
    return np.array(rows).T if rows else np.zeros((5, 0))


def rings(part, count):
    """Columns as DISCS of particles, without the circular velocity; Q with the line's epicyclic frequency."""
    radius = np.hypot(part.pos[:, 0], part.pos[:, 1])
    out = (part.pos[:, :2] * part.vel[:, :2]).sum(axis=1) / radius
    along = (part.pos[:, 0] * part.vel[:, 1] - part.pos[:, 1] * part.vel[:, 0]) / radius
    rows = []
    for a, b in bins(radius, count):
        mine = (radius >= a) & (radius < b)
        rows.append((np.exp(np.log(radius[mine]).mean()), part.mass[mine].sum() / (np.pi * (b**2 - a**2)),
                     along[mine].mean(), out[mine].std(), along[mine].std(), part.vel[mine, 2].std(),
                     np.sqrt(12 * (part.pos[mine, 2] ** 2).mean()) / np.pi))
    names = ("R", "surface_density", "rotation", "sigma_r", "sigma_phi", "sigma_z", "height")
    found = dict(zip(names, np.array(rows).T if rows else np.zeros((len(names), 0))))
    line = {name: np.interp(np.log(found["R"]), np.log(part.disc["R"]), part.disc[name])
            for name in ("toomre_q", "sigma_r", "surface_density")}
    found["toomre_q"] = (line["toomre_q"] * found["sigma_r"] / line["sigma_r"] * line["surface_density"]
                         / found["surface_density"])
    return found


class Well:
    """The potential psi(r) of the whole model by its mass within spheres, and the density of states."""

    def __init__(self, total):
        self.r = total.whole["r"]
        pull = total.whole["circular_velocity"] ** 2 / self.r
        steps = 0.5 * (pull[1:] * self.r[1:] + pull[:-1] * self.r[:-1]) * np.diff(np.log(self.r))
        self.psi = total.whole["circular_velocity"][-1] ** 2 + np.append(np.cumsum(steps[::-1])[::-1], 0.0)

    def of(self, radius):
        inside = np.interp(np.log(radius), np.log(self.r), self.psi)
        return np.where(radius > self.r[-1], self.psi[-1] * self.r[-1] / radius, inside)

    def states(self, energy):
        """16 pi^2 int r^2 sqrt(2 (psi - E)) dr (Binney & Tremaine 2008, eq. 4.56)."""
        r = np.geomspace(self.r[0], 1e3 * self.r[-1], 4000)
        speed = np.sqrt(np.maximum(2 * (self.of(r) - energy[:, None]), 0))
        value = r**3 * speed
        return 16 * np.pi**2 * (0.5 * (value[:, 1:] + value[:, :-1]) * np.diff(np.log(r))).sum(axis=1)


def energies(part, well, count):
    """Energies, and f of particles of an isotropic component."""
    radius = np.linalg.norm(part.pos, axis=1)
    energy = well.of(radius) - 0.5 * (part.vel**2).sum(axis=1)
    ends = np.unique(np.quantile(energy[energy > 0], np.linspace(0.001, 0.999, count + 1)))
    mass = np.histogram(energy, ends, weights=part.mass)[0]
    middle = np.histogram(energy, ends, weights=part.mass * energy)[0] / mass
    # the mean of the states over a bin, in which they change
    inner = ends[:-1, None] + np.diff(ends)[:, None] * (np.arange(5) + 0.5) / 5
    states = well.states(inner.ravel()).reshape(inner.shape).mean(axis=1)
    return middle, mass / np.diff(ends) / states


def told(name, what, found, expected):
    good = np.isfinite(found) & np.isfinite(expected) & (expected > 0) & (found > 0)
    if good.sum() >= 3:
        ratio = found[good] / expected[good] - 1
        print(f"{name}: {what}: median of the points {100 * np.median(ratio):+.1f} %, scatter "
              f"{100 * np.median(abs(ratio)):.1f} %")


def points(axis, x, y, part, marker="o"):
    axis.plot(x, y, marker, color=part.colour, markersize=3.5, markerfacecolor="none", markeredgewidth=0.9)


def limit(axis, parts):
    """Radii with mass: some densities fall slowly, without an end."""
    axis.set_xlim(right=1.3 * max(part.holds(HELD) for part in parts))
    low, high = axis.get_xlim()
    values = [y[(x >= low) & (x <= high) & (y > 0)] for x, y in (line.get_data() for line in axis.lines)]
    if axis.get_yscale() == "log" and any(len(y) for y in values):
        axis.set_ylim(0.5 * min(y.min() for y in values if len(y)), 2 * max(y.max() for y in values if len(y)))


def densities(axis, total, parts, units, count):
    axis.loglog(total.line["r"], total.line["density"], color="0.6", linewidth=1, zorder=1)
    for part in parts:
        line = part.line["density"]
        axis.loglog(part.line["r"], np.where(line > 0, line, np.nan), color=part.colour)
        if part.pos is not None:
            x, y, _, _, expected = shells(part, count)
            points(axis, x, y, part)
            told(part.name, "density", y, expected)
    limit(axis, parts)
    unit = f"{units.mass} {units.length}$^{{-3}}$" if units.length else ""
    axis.set(title="density in spheres", xlabel=Units.label("radius", units.length),
             ylabel=Units.label("density", unit))


def speeds(axis, total, parts, units, count):
    axis.semilogx(total.line["r"], total.line["circular_velocity"], color="0.6", linewidth=1, zorder=1)
    for part in parts:
        axis.semilogx(part.line["r"], part.line["circular_velocity"], color=part.colour, linewidth=1, linestyle=":")
        if part.disc is not None:
            axis.semilogx(part.disc["R"], part.disc["rotation"], color=part.colour)
            if part.pos is not None:
                found = rings(part, count)
                points(axis, found["R"], found["rotation"], part)
                told(part.name, "rotation", found["rotation"],
                     np.interp(found["R"], part.disc["R"], part.disc["rotation"]))
    first = next((part for part in parts if part.disc is not None), None)
    handles = [plt.Line2D([], [], color="0.3", linestyle=":", linewidth=1, label=r"$\sqrt{G\,M(r)/r}$")]
    if first:
        axis.semilogx(first.disc["R"], first.disc["circular_velocity"], color="k", linestyle="--", linewidth=1)
        handles += [plt.Line2D([], [], color="k", linestyle="--", linewidth=1, label="circular"),
                    plt.Line2D([], [], color="0.3", label="rotation")]
    axis.set_ylim(bottom=min(0, axis.get_ylim()[0]) if any(p.disc is not None and p.disc["rotation"].min() < 0
                                                           for p in parts) else 0)
    limit(axis, parts)
    axis.set(xlabel=Units.label("radius", units.length), ylabel=Units.label("velocity", units.velocity),
             title="velocities")
    legend_above(axis, handles=handles)


def dispersions(axis, parts, units, count):
    for part in parts:
        if part.disc is None:
            line = part.line["sigma_r"]
            axis.semilogx(part.line["r"], line, color=part.colour)
            if part.pos is not None:
                x, _, y, *_ = shells(part, count)
                points(axis, x, y, part)
                told(part.name, "sigma_r", y, part.value("sigma_r", x))
    axis.set_ylim(bottom=0)
    limit(axis, parts)
    axis.set(title=r"spheroids: $\sigma_r$", xlabel=Units.label("radius", units.length),
             ylabel=Units.label("dispersion", units.velocity))


def disc_dispersions(axis, discs, units, count):
    styles = (("sigma_r", "-", "o", r"$\sigma_R$"), ("sigma_phi", "--", "s", r"$\sigma_\varphi$"),
              ("sigma_z", ":", "^", r"$\sigma_z$"))
    for part in discs:
        found = rings(part, count) if part.pos is not None else None
        for column, line, marker, _ in styles:
            axis.loglog(part.disc["R"], part.disc[column], color=part.colour, linestyle=line)
            if found:
                points(axis, found["R"], found[column], part, marker)
                told(part.name, column, found[column], np.interp(found["R"], part.disc["R"], part.disc[column]))
    legend_above(axis, handles=[plt.Line2D([], [], color="0.3", linestyle=line, marker=marker, markersize=3.5,
                                           markerfacecolor="none", label=label)
                                for _, line, marker, label in styles])
    axis.set(title="discs", xlabel=Units.label("R", units.length), ylabel=Units.label("dispersion", units.velocity))


def toomre(axis, discs, units, count):
    for part in discs:
        axis.loglog(part.disc["R"], part.disc["toomre_q"], color=part.colour)
        if part.pos is not None:
            found = rings(part, count)
            points(axis, found["R"], found["toomre_q"], part)
            told(part.name, "Q", found["toomre_q"], np.interp(found["R"], part.disc["R"], part.disc["toomre_q"]))
        print(f"{part.name}: smallest Q {np.nanmin(part.disc['toomre_q']):.3g}")
    axis.axhline(1, color="0.5", linewidth=1)
    low = min(np.nanmin(part.disc["toomre_q"]) for part in discs)
    axis.set_ylim(min(0.7 * low, 0.8), 60 * max(low, 0.3))
    axis.set(title="Toomre's Q", xlabel=Units.label("R", units.length), ylabel="Q")


def distributions(axis, total, parts, units, count):
    well = Well(total)
    for part in parts:
        if part.df is None:
            continue
        axis.semilogy(part.df["energy"], part.df["f"], color=part.colour)
        if part.pos is None:
            continue
        x, _, _, beta, _ = shells(part, count)
        outer = beta[x > part.half_mass_radius()]
        if len(beta) and abs(np.median(outer if len(outer) else beta)) > FLAT:
            print(f"{part.name}: its velocities are not isotropic, so f is not drawn from its particles")
            continue
        x, y = energies(part, well, count)
        points(axis, x, y, part)
        order = np.argsort(part.df["energy"])
        told(part.name, "f", y, np.exp(np.interp(x, part.df["energy"][order], np.log(part.df["f"][order]))))
    # f diverges at the centre and vanishes at E = 0: the ends are left out
    ends = [np.interp(part_of * well.psi.max(), *(column[np.argsort(part.df["energy"])]
                                                  for column in (part.df["energy"], part.df["f"])))
            for part in parts if part.df is not None for part_of in (0.03, 0.97)]
    axis.set_ylim(max(0.1 * min(value for value in ends if value > 0), 1e-14 * max(ends)), 10 * max(ends))
    axis.set(title="distribution functions",
             xlabel=Units.label("binding energy", f"({units.velocity})$^2$" if units.velocity else ""),
             ylabel="f")


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    parser.add_argument("table", metavar="FILE.csv", help="table of 'espalier ic galaxy --profile FILE.csv'")
    parser.add_argument("snapshot", nargs="?", metavar="SNAPSHOT", help="particles of the model (default: lines alone)")
    parser.add_argument("--galaxy", type=int, default=1, metavar="N",
                        help="which galaxy of a model of several (default: %(default)s)")
    parser.add_argument("--bins", type=int, default=30,
                        help="shells, rings and energies of the points (default: %(default)s)")
    add_units(parser)
    add_output(parser, "model.png")
    arguments = parser.parse_args()
    if not 5 <= arguments.bins <= 1000:
        parser.error("--bins must be 5 to 1000")
    paths = outputs(arguments.output, "model.png")
    galaxies, units = read_lines(arguments.table)
    if not 1 <= arguments.galaxy <= len(galaxies):
        fail(f"--galaxy: expected 1 to {len(galaxies)}, found {arguments.galaxy}")
    total, parts = galaxies[arguments.galaxy - 1]
    for part, colour in zip(parts, line_colours(len(parts))):
        part.colour = colour
    if arguments.snapshot:
        snapshot = assign(arguments.snapshot, galaxies, bool(units.length))
        units = snapshot.units
        few = [part.name for part in parts if part.pos is None]
        if few:
            warn(f"too few particles for points: {', '.join(few)}")
        if len(few) < len(parts):
            frame(parts)
    draw(total, parts, units, arguments.bins, paths, bool(arguments.snapshot))


def draw(total, parts, units, count, paths, with_points):
    discs = [part for part in parts if part.disc is not None]
    round_ones = [part for part in parts if part.disc is None]
    panels = [lambda axis: densities(axis, total, parts, units, count),
              lambda axis: speeds(axis, total, parts, units, count)]
    if round_ones:
        panels.append(lambda axis: dispersions(axis, round_ones, units, count))
    if discs:
        panels += [lambda axis: disc_dispersions(axis, discs, units, count),
                   lambda axis: toomre(axis, discs, units, count)]
    if any(part.df is not None for part in parts):
        panels.append(lambda axis: distributions(axis, total, parts, units, count))
    columns = 3 if len(panels) > 4 else 2
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.6 * columns, 3.9 * rows + 0.4), squeeze=False,
                                layout="constrained")
    for axis, panel in zip(axes.flat, panels):
        panel(axis)
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    handles = [plt.Line2D([], [], color=part.colour, label=shown(part.name)) for part in parts]
    handles.append(plt.Line2D([], [], color="0.6", linewidth=1, label="all"))
    if with_points:
        handles.append(plt.Line2D([], [], color="0.3", linestyle="", marker="o", markersize=3.5, markerfacecolor="none",
                                  label="particles"))
    legend_on_top(figure, handles, most=7)
    save(figure, paths)


if __name__ == "__main__":
    start(main)
