#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Maps of one or several snapshots, on one scale: surface density, from above (xy) and from the side (xz); with
--velocity also the mean velocity along the line of sight and its dispersion; with --phase phase space, radius and
radial velocity (r) or a coordinate and its velocity (x, y, z). Fewer than 10,000 particles are points whose area is
proportional to the mass (--draw), of a cluster in a TidalField with a circle at the Jacobi radius. More than seven
snapshots stand in several rows; of very many, some at even distances are drawn (--most)."""
import argparse

from plotting import (TYPES, Help, add_output, densest_centre, fail, np, outputs, program, positive, same_units, save,
                      start, type_list)
from espalier_plots.cluster import jacobi
from espalier_plots.measure import AXES, mean_velocity
from espalier_plots.pictures import Panel, View, figure_of_maps, figure_of_points
from follow import Frames, Turn, add_face_on, add_follow
from snapshots import Snapshot, add_most, add_snapshots, check_most, chosen_snapshots

COLUMNS = 7   # snapshots side by side
FEW = 10000   # particles: fewer are drawn as points
QUANTITIES = ["density", "velocity", "dispersion"]


def frame_of(arguments, frames, snapshot):
    """Origin and velocity of the frame of a snapshot."""
    pos, vel, mass, _, _ = frames.arrays(snapshot)
    if arguments.follow:
        return frames.of(snapshot)
    if arguments.centre == "origin":
        return np.zeros(3), np.zeros(3)
    centre = np.average(pos, axis=0, weights=mass) if arguments.centre == "mass" else densest_centre(pos, mass)
    return centre, None if vel is None else mean_velocity(vel, mass)


def jacobi_of(snapshot, pos, mass, centre):
    """Jacobi radius of a cluster in a TidalField, by the mass about its densest place; None: there is none."""
    if not snapshot.tide > 0 or snapshot.gravity is None:
        return None
    found = jacobi(np.linalg.norm(pos - centre, axis=1), mass, snapshot.gravity, snapshot.tide)["jacobi_radius"]
    return float(found) if np.isfinite(found) else None


def views_of(arguments, frames, turn, snapshot):
    """The snapshot's particles as one picture, or as one for each type."""
    origin, speed = frame_of(arguments, frames, snapshot)
    pos, vel, mass, _, kinds = frames.arrays(snapshot)
    axes = np.eye(3) if turn is None else turn.axes(snapshot, frames, origin)
    centre = densest_centre(pos, mass) if snapshot.tide > 0 else origin
    circle = jacobi_of(snapshot, pos, mass, centre)
    pos, vel = (pos - origin) @ axes.T, vel if vel is None else (vel - speed) @ axes.T
    if arguments.velocity or arguments.phase:
        if vel is None or not np.isfinite(vel).all():
            fail(f"{snapshot.path} has no velocities for all particles, which --velocity and --phase need")
    chosen = np.isin(kinds, arguments.types) if arguments.types else np.full(len(kinds), True)
    if not chosen.any():
        fail(f"{snapshot.path} has no particles of type {', '.join(map(str, arguments.types))}")
    sets = [(chosen, "")]   # what stands behind the time
    if arguments.by_type:
        sets = [(kinds == kind, f", {kind} ({TYPES[kind]})") for kind in np.unique(kinds[chosen])]
    return [View(pos[rows], None if vel is None else vel[rows], mass[rows], title, snapshot.units, circle,
                 axes @ (centre - origin))
            for rows, title in sets]


def read(arguments):
    """Views of all snapshots, and how many belong to the first one."""
    chosen = chosen_snapshots(arguments)
    shown, views = [], []
    frames = Frames(arguments.follow or ("all", None))
    turn = None if arguments.face_on is None else Turn(arguments.face_on)
    for path in chosen:
        snapshot = Snapshot(path, None if arguments.follow else arguments.types, arguments.partial,
                            velocities=bool(arguments.velocity or arguments.phase or turn), ids=frames.needs_ids())
        views.append(views_of(arguments, frames, turn, snapshot))
        snapshot.pos, snapshot.vel, snapshot.mass = {}, {}, {}
        shown.append(snapshot)
    same_units(shown)
    for snapshot, mine in zip(shown, views):
        for view in mine:
            view.title = snapshot.time_text() + view.title
    return [view for mine in views for view in mine], len(views[0])


def panels_of(arguments):
    if arguments.phase:
        return [Panel("phase", coordinate) for coordinate in arguments.phase]
    planes = arguments.planes or (["xy"] if arguments.velocity else ["xy", "xz"])
    return [Panel(quantity, plane) for plane in planes
            for quantity in (QUANTITIES if arguments.velocity else QUANTITIES[:1])]


def some_of(names, what):
    """For argparse: 'xy,xz'."""
    def parsed(text):
        words = text.split(",")
        if len(set(words)) != len(words) or not all(word in names for word in words):
            raise argparse.ArgumentTypeError(f"expected some of {what} with commas between them, found '{text}'")
        return words
    return parsed


def parse():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    add_snapshots(parser)
    add_output(parser, f"{program().split()[-1]}.png")
    parser.add_argument("--types", type=type_list, metavar="T,T", help="particle types, 0 to 5 (default: all)")
    parser.add_argument("--planes", type=some_of(AXES, "xy, xz, yz"), metavar="P,P",
                        help="of xy, xz, yz (default: xy,xz; with --velocity xy)")
    parser.add_argument("--velocity", action="store_true",
                        help="mean velocity along the line of sight and its dispersion too, weighted "
                        "by mass, in the frame's velocity")
    parser.add_argument("--phase", type=some_of("rxyz", "r, x, y, z"), metavar="C,C",
                        help="phase space in place of maps: r (radius and "
                        "radial velocity), x, y or z")
    parser.add_argument("--width", type=positive,
                        help="width of each picture, in the snapshots' unit (default: holds 99 %% of the "
                        "particles of the first snapshot and 98 %% of every other one, and the Jacobi radius)")
    parser.add_argument("--by-type", action="store_true", help="a picture for each particle type")
    parser.add_argument("--centre", default="mass", choices=["mass", "density", "origin"],
                        help="the picture's middle: the centre of mass, the densest place, or (0,0,0) at rest "
                             "(default: %(default)s)")
    parser.add_argument("--draw", choices=["auto", "points", "maps"], default="auto",
                        help="particles as points, or smoothed maps; auto: points of fewer than 10,000 particles "
                             "(default: %(default)s)")
    add_follow(parser)
    add_face_on(parser)
    parser.add_argument("--range", type=positive, default=4, help="decades of density shown (default: %(default)s)")
    parser.add_argument("--pixels", type=int, default=400, help="pixels of each picture's side (default: %(default)s)")
    add_most(parser, 3 * COLUMNS)
    arguments = parser.parse_args()
    if not 16 <= arguments.pixels <= 4096 or arguments.range > 300:
        parser.error("--pixels must be 16 to 4096, --range at most 300")
    check_most(parser, arguments, 200)
    if arguments.face_on is not None:
        if arguments.follow and arguments.follow[0] == "ids":
            parser.error("--face-on turns discs: leave --follow ids out")
        arguments.follow = arguments.follow or ("type", arguments.face_on)
    if arguments.draw == "points" and (arguments.velocity or arguments.phase):
        parser.error("--draw points is for densities: leave --velocity and --phase out")
    if arguments.phase and (arguments.velocity or arguments.planes):
        parser.error("--phase draws phase space: leave --velocity and --planes out")
    if arguments.velocity and len(arguments.planes or "1") > 1:
        parser.error("--velocity draws one plane: give one of xy, xz, yz as --planes")
    return arguments


def half_of(arguments, views, first):
    """Half of the width of each picture."""
    if arguments.width:
        return arguments.width / 2
    half = 1.05 * max(view.extent(0.99 if number < first else 0.98) for number, view in enumerate(views))
    circles = [view.jacobi + np.abs(view.centre).max() for view in views if view.jacobi]
    return max([half] + [1.05 * circle for circle in circles if circle < 5 * half])   # else all is in its middle


def types_text(arguments):
    """Behind the number of particles: the types that are asked for."""
    if not arguments.types or arguments.by_type:
        return ""
    named = ", ".join(f"{kind} ({TYPES[kind]})" for kind in arguments.types)
    return f", type{'s' if len(arguments.types) > 1 else ''} {named}"


def as_points(arguments, views):
    """Whether particles are drawn as points, which densities alone can be."""
    density = not (arguments.velocity or arguments.phase)
    few = max(len(view.mass) for view in views) < FEW
    return density and (arguments.draw == "points" or arguments.draw == "auto" and few)


def main():
    arguments = parse()
    paths = outputs(arguments.output, f"{program().split()[-1]}.png")
    views, first = read(arguments)
    half = half_of(arguments, views, first)
    if not half > 0:
        fail("all particles are in one place; give --width")
    panels, of = panels_of(arguments), types_text(arguments)
    if as_points(arguments, views):
        save(figure_of_points(views, panels, half, COLUMNS, not arguments.by_type, of), paths)
        return
    speed = 1.05 * max(view.speed() for view in views) if arguments.phase else 1.0
    figure = figure_of_maps(views, panels, half, speed if speed > 0 else 1.0, arguments.pixels, arguments.range,
                            COLUMNS, not arguments.by_type, of)
    if figure is None:
        fail("no mass inside the picture")
    save(figure, paths)


if __name__ == "__main__":
    start(main)
