# SPDX-License-Identifier: GPL-3.0-or-later
"""What espalier-plot rotation, disc and modes share: options, discs of snapshots, tables, colours."""
import argparse
import csv

from plotting import (COLOURS, TYPES, Help, Units, add_output, count_text, fail, legend_beside, np, ordered_colours,
                      plt, positive, program, same_units, type_list, warn, writable, write_units)
from espalier_plots.galaxy import DARK, SOFT, Disc, NoDisc, centre_of
from follow import Frames, add_follow, centre, type_number
from snapshots import Snapshot, add_most, add_snapshots, check_most, chosen_snapshots

FEW = 7      # the terminal has the centres of so many snapshots at most
MANY = 8     # more times than this are told apart by a scale of colours
RINGS = ("R", "count", "surface_density", "v_phi", "v_R", "sigma_R", "sigma_phi", "sigma_z", "z_rms", "height", "v_c",
         "Omega", "kappa", "Q")


def parser_of(description, kinds=True):
    """The options that all three have."""
    name = program().split()[-1]
    parser = argparse.ArgumentParser(prog=program(), description=description, formatter_class=Help)
    add_snapshots(parser)
    add_output(parser, f"{name}.png")
    parser.add_argument("--type", type=type_number, metavar="T",
                        help="the disc: its angular momentum is the axis (default: the type that rotates most)")
    parser.add_argument("--centre", type=centre, metavar="C",
                        help="the centre: the bottom of the potential well of the particles of type:T, or of all; "
                             "the mean place of ids:ID,ID...; or x,y,z, there at all times (default: the bottom of the "
                             "well of the stars, which are all types but 1, or of what --follow names)")
    if kinds:
        parser.add_argument("--types", type=type_list, metavar="T,T",
                            help="types that are drawn (default: all but 1, dark matter)")
    parser.add_argument("--radius", type=positive, metavar="R",
                        help="largest radius, in the snapshots' unit (default: holds 95 %% of the disc at first)")
    parser.add_argument("--rings", type=int, default=20, metavar="N",
                        help="rings of equal width (default: %(default)s); those of fewer than 20 particles are left "
                             "out")
    add_follow(parser)
    parser.add_argument("--gravity", type=positive, metavar="G",
                        help="gravitational constant in the snapshots' units, of files that do not state it: 43007.1 "
                             "in kpc, km/s and 10^10 solar masses")
    parser.add_argument("--softening", type=positive, metavar="S",
                        help="Plummer softening of the forces that give v_c (default: that of the file)")
    parser.add_argument("--table", metavar="FILE.csv", help="write the numbers, in the snapshots' units")
    return parser


def parsed(parser, most):
    """The arguments, within limits."""
    add_most(parser, most)
    arguments = parser.parse_args()
    check_most(parser, arguments, 1000)
    if not 4 <= arguments.rings <= 1000:
        parser.error("--rings must be 4 to 1000")
    if arguments.follow and arguments.follow[0] == "ids":
        parser.error("--follow ids is for few stars: a disc follows all, type:T, group:K or x,y,z (--centre "
                     "ids:ID,ID... makes them its centre)")
    if arguments.table:
        writable(arguments.table)
    return arguments


class Moment:
    """A disc at one time: time, units, gravitational constant, radii of rings, what was measured (measured)."""

    def __init__(self, snapshot, number):
        self.path, self.time, self.units, self.number = snapshot.path, snapshot.time, snapshot.units, number
        self.parts, self.found = " (parts missing)" if snapshot.incomplete else "", None

    @property
    def text(self):
        return self.units.time_text(self.time) + self.parts


def gravity_of(snapshot, given):
    """The gravitational constant: given, of the file, or of its units."""
    if given or snapshot.gravity:
        return given or snapshot.gravity
    sizes = snapshot.unit_sizes
    if sizes:
        return Units.G_CGS * sizes[1] / sizes[0] / sizes[2] ** 2
    return fail(f"{snapshot.path} states neither GravityConstantInternal nor units: --gravity gives the gravitational "
                "constant in its units (43007.1 in kpc, km/s and 10^10 solar masses)")


class Reader:
    """Discs of snapshots, one after the other; the first one chooses the disc's type, largest radius and softening."""

    def __init__(self, arguments):
        self.arguments, self.type, self.outer, self.soft = arguments, arguments.type, arguments.radius, None
        self.half, self.kinds, self.axis = None, None, None
        self.frames = Frames(arguments.follow) if arguments.follow else None
        chosen = arguments.centre or (arguments.follow if self.frames and not self.frames.needs_ids() else None)
        self.centre = Frames(chosen) if chosen else None   # the set that has the centre, if it is not that of the stars

    def origin(self, snapshot):
        """The centre that is asked for, or None."""
        if self.centre is None:
            return None
        kind, place = self.centre.which
        if kind == "point":
            return np.array(place)
        if kind == "ids":
            return self.centre.of(snapshot)[0]
        pos, _, mass, _, _ = self.centre.arrays(snapshot)
        rows = self.centre.rows(snapshot)
        return centre_of(pos[rows], mass[rows])

    def softening(self, snapshot, disc):
        """Softenings by type; where none is stated a part of the half-mass radius, which the terminal tells."""
        if self.arguments.softening:
            return np.full(6, self.arguments.softening)
        if snapshot.softenings:
            return np.array(snapshot.softenings)
        if self.soft is None:
            self.soft = SOFT * disc.holds(0.5)
            print(f"softening of the forces: {self.soft:.3g} {snapshot.units.length}".rstrip()
                  + f", {100 * SOFT:.0f} % of the disc's half-mass radius ({snapshot.path} states none; --softening)")
        return np.full(6, self.soft)

    def disc(self, path):
        """The snapshot and its disc."""
        snapshot = Snapshot(path, None, self.arguments.partial, velocities=True,
                            ids=any(frames.needs_ids() for frames in (self.frames, self.centre) if frames))
        if snapshot.comoving:
            fail(f"{path} has comoving coordinates: expected a galaxy in physical ones")
        pos, vel, mass, _, kinds = (self.frames or Frames(("all", None))).arrays(snapshot)
        if not np.isfinite(vel).all():
            fail(f"{path} has no velocities for all particles")
        chosen = self.frames.rows(snapshot) if self.frames and self.frames.needs_ids() else None
        try:
            disc = Disc(pos, vel, mass, kinds, self.type, gravity_of(snapshot, self.arguments.gravity), 0.0,
                        self.origin(snapshot), chosen, self.axis)
        except NoDisc as fault:
            fail(f"{path} {fault}")
        disc.softening = self.softening(snapshot, disc)
        self.type, self.axis = disc.type, disc.axes[0] if self.axis is None else self.axis
        self.outer = self.outer or disc.holds(0.95)
        self.half = self.half or disc.holds(0.5)
        return snapshot, disc

    def shown(self, snapshot, disc):
        """The types that are drawn: those asked for, or all but dark matter, and the disc."""
        there = disc.kinds()
        wanted = getattr(self.arguments, "types", None)
        absent = [kind for kind in wanted or [] if kind not in there]
        if absent:
            fail(f"{snapshot.path} has no particles with mass of type {absent[0]} (it has type "
                 f"{', '.join(map(str, there))})")
        if self.kinds is None:
            self.kinds = wanted or [kind for kind in there if kind != DARK or kind == self.type]
        return [kind for kind in self.kinds if kind in there]


def measured(arguments, measure):
    """Moments by time, with found = measure(disc, moment, reader); and the reader."""
    reader, moments, paths = Reader(arguments), [], chosen_snapshots(arguments)
    for path in paths:
        snapshot, disc = reader.disc(path)
        moment = Moment(snapshot, {kind: int(disc.of(kind).sum()) for kind in disc.kinds()})
        moment.origin, moment.gravity = disc.origin, disc.gravity
        moment.kinds = reader.shown(snapshot, disc)
        moment.found = measure(disc, moment, reader)
        moments.append(moment)
    moments.sort(key=lambda moment: moment.time)
    same_units(moments)
    for moment in moments if len(moments) <= FEW else ():
        place = ", ".join(f"{x:.5g}" for x in moment.origin)
        print(f"{moment.text}: centre {place} {moment.units.length}".rstrip())
    return moments, reader


def rings_of_types(disc, moment, reader):
    """{type: rings} of the types that are drawn, radii and v_c^2 by type, and which types are discs."""
    edges = np.linspace(0, reader.outer, reader.arguments.rings + 1)
    rings = {kind: disc.rings(kind, edges) for kind in moment.kinds}
    few = [kind for kind in rings if not np.isfinite(rings[kind]["R"]).sum() > 1]
    if len(few) == len(rings):
        fail(f"{moment.path}: every type has too few particles for rings: --rings takes fewer, --radius a larger "
             "radius")
    moment.few = [f"type {kind} ({moment.number[kind]} particles)" for kind in few]
    moment.field = disc.field(*edges[[1, -1]])
    moment.discs = [kind for kind in rings if kind not in few and disc.is_disc(kind)]
    return {kind: found for kind, found in rings.items() if kind not in few}


def tell_few(moments):
    """Types that are not drawn, once."""
    for text in dict.fromkeys(text for moment in moments for text in moment.few):
        warn(f"not drawn, too few for rings: {text}")


def write_rings(path, moments):
    """One row for each time, type and ring."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        write_units(file, moments[0].units, moments[0].gravity)
        table = csv.writer(file)
        table.writerow(["time", "type", *RINGS])
        for moment in moments:
            for kind, rings in moment.found.items():
                for k in np.flatnonzero(np.isfinite(rings["R"])):
                    table.writerow([repr(float(moment.time)), kind, *(f"{rings[name][k]:.9g}" for name in RINGS)])


def type_colour(kind):
    return COLOURS[kind]


def type_name(moment, kind):
    return f"{kind} ({TYPES[kind]}), {count_text(moment.number[kind])}"


def time_colours(moments):
    """A colour for each time, from early to late."""
    times = np.array([moment.time for moment in moments])
    span = times[-1] - times[0]
    places = (times - times[0]) / span if span > 0 else np.linspace(0, 1, len(times))
    if len(moments) <= MANY:
        return ordered_colours(len(moments))
    return [plt.get_cmap("inferno")(0.1 + 0.74 * place) for place in places]


def few_times(axis):
    """Ticks of a time axis that do not run into each other."""
    axis.xaxis.set_major_locator(plt.MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))


def time_key(figure, axis, axes, moments, colours):
    """What the colours of times mean: a legend beside an axis, or a scale beside all of them."""
    if len(moments) <= MANY:
        legend_beside(axis, handles=[plt.Line2D([], [], color=colour, label=moment.text)
                                     for moment, colour in zip(moments, colours)])
        return
    units = moments[0].units
    shades = plt.matplotlib.colors.ListedColormap(plt.get_cmap("inferno")(np.linspace(0.1, 0.84, 256)))
    scale = plt.Normalize(moments[0].time * units.time_size, moments[-1].time * units.time_size)
    figure.colorbar(plt.cm.ScalarMappable(scale, shades), ax=list(axes), label=Units.label("time", units.time_unit),
                    pad=0.02)
