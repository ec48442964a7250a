#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A movie of surface density on one logarithmic scale for all times: of the maps of a run (Projections = on), or of
snapshots, in a frame that may follow a set of particles (--follow). Stars that are followed by their ids (--follow
ids:12,57,103) are marked points with paths, and all others faint points: snapshots must be closer in time than an
orbit for the paths to be orbits. MP4 needs the program ffmpeg, GIF the Python module Pillow; the ending .png, .pdf or
.svg gives a picture of the last time. Where there are few particles maps are smoothed until some are in reach, so that
no single ones show."""
import argparse
import os
import re
import shutil
import subprocess
import tempfile

from plotting import (writable, ENDINGS, TYPES, Help, Units, count_text, fail, log_ticks, matplotlib, np, outputs, plt,
                      positive, program, same_units, save, start)
from espalier_plots.measure import AXES, FEW, surface_density
from espalier_plots.style import DENSITY
from follow import Frames, Turn, add_face_on, add_follow
from movie_group import TRAIL, Picture, moments_of, types_of
from processes import together
from snapshots import BINARY, NUMBERED, Fault, Snapshot, open_hdf5, snapshot_paths
from unit_systems import Factors, add_units

NAME = re.compile(r"projection_(\d{4,})\.hdf5$")
MOVIES = (".mp4", ".gif")
FPS, LEAST = 20, 4   # frames per second, and the seconds that a movie of few maps lasts
HELD = 0.97   # of the mass: in the frame
LEAST_PIXELS = 16   # of a map that is cropped
PIXELS = 400   # of the maps of snapshots, and at least of those of a run, whose pixels are smoothed as particles
SHARPEST = 0.7   # pixels of a run's map: the narrowest Gaussian, which shows no pixels
INCHES, DOTS = (6.0, 5.2), {".mp4": 180}   # 1080 x 936 pixels, even numbers as MP4 needs; else 720 x 624


class Map:
    """One map of a run, of a group or the sum of several: Time, surface density [rows][columns], about how many
    particles are in each pixel, half-width, units."""

    def __init__(self, path, group, plane):
        self.path = path
        try:
            with open_hdf5(path) as file:
                facts = dict(file["Header"].attrs) if "Header" in file else {}
                groups = [name for name in file if name != "Header"]
                wanted = (group,) if isinstance(group, str) else group
                for name in wanted:
                    if name not in file:
                        raise Fault(f"has no maps of {name} (it has {', '.join(groups) or 'none'})")
                    if plane not in file[name]:
                        raise Fault(f"has no maps in the plane {plane} (it has {', '.join(file[name])})")
                self.density = sum(file[name][plane][...].astype(float) for name in wanted)
                kinds = [name for name in groups if name[:8] == "PartType" and plane in file[name]]   # of equal masses
                self.number = sum(numbers(file[name][plane][...].astype(float))
                                  for name in (kinds if group == "All" and kinds else wanted))
                self.time, self.half = float(facts["Time"]), float(facts["HalfWidth"])
        except Fault as fault:
            fail(f"{path} {fault}")
        except (KeyError, OSError, TypeError, ValueError) as error:
            fail(f"{path} is no complete file of maps: {error}")
        try:
            factors = Factors(facts, bool(Units(facts).length))
        except ValueError as fault:
            fail(f"{path} {fault}")
        self.units, self.time, self.half = Units(factors.facts), self.time * factors.time(), self.half * factors.of(1)
        self.density *= factors.of(-2, 1)
        if (self.density.ndim != 2 or self.density.shape[0] != self.density.shape[1]
            or not (self.half > 0 and np.isfinite(self.density).all())):
            fail(f"{path} has no square map of numbers")


def map_paths(given):
    """The files of maps in a run's folder, by number."""
    for folder in (os.path.join(given, "projections"), given):
        if os.path.isdir(folder):
            found = sorted((int(NAME.match(name)[1]), name) for name in os.listdir(folder) if NAME.match(name))
            if found:
                return [os.path.join(folder, name) for _, name in found]
    return []


class SnapshotMap:
    """The same of a snapshot, smoothed, in its frame."""

    def __init__(self, snapshot, pos, mass, half, plane, pixels):
        self.path, self.time, self.units, self.half, self.count = (snapshot.path, snapshot.time, snapshot.units, half,
                                                                   len(mass))
        i, j = AXES[plane]
        self.density = surface_density(pos[:, i], pos[:, j], mass, half, pixels)


def of_snapshots(arguments, paths):
    """Maps of snapshots; the half-width is of the first one, unless it is given."""
    kinds = types_of(arguments.type)
    turn = None if arguments.face_on is None else Turn(arguments.face_on)
    follows = (kinds and kinds[0]) if turn is None else turn.kind
    maps, half = [], arguments.width and arguments.width / 2
    frames = Frames(arguments.follow or (("all", None) if follows is None else ("type", follows)))
    for path in paths:
        snapshot = Snapshot(path, velocities=turn is not None, ids=frames.needs_ids())
        absent = [kind for kind in kinds or () if not len(snapshot.mass.get(kind, ()))]
        if absent:
            fail(f"{path} has no particles of type {absent[0]}")
        centre, _ = frames.of(snapshot)
        pos, mass = snapshot.all() if kinds is None else (np.concatenate([parts[kind] for kind in kinds])
                                                          for parts in (snapshot.pos, snapshot.mass))
        pos = pos - centre
        if turn:
            pos = pos @ turn.axes(snapshot, frames, centre).T
        half = half or 1.05 * float(np.quantile(np.abs(pos), 0.97, axis=0).max())
        if not half > 0:
            fail(f"{path}: all particles are in one place; give --width")
        maps.append(SnapshotMap(snapshot, pos, mass, half, arguments.axis, PIXELS))
    maps.sort(key=lambda m: m.time)
    same_units(maps)
    return maps


def snapshots_of(given):
    """The paths of snapshots that are given, or in folders that are."""
    for path in given:
        if os.path.isdir(path) and not any(NUMBERED.match(name) or BINARY.match(name) for name in os.listdir(path)):
            fail(f"{path} has no maps (Projections = on) and no snapshots")
        if not os.path.exists(path):
            fail(f"{path} is not there")
    return snapshot_paths(given)


def of_run(arguments):
    """Maps of a run's folder where it has some, else of its snapshots; or of snapshots that are named, followed or
    turned."""
    given, in_frame = arguments.run, arguments.follow or arguments.face_on is not None
    found = map_paths(given[0]) if len(given) == 1 and not in_frame and os.path.isdir(given[0]) else []
    if not found:
        return of_snapshots(arguments, snapshots_of(given))
    maps = [Map(path, arguments.type, arguments.axis) for path in found]
    for other in maps[1:]:
        if other.half != maps[0].half or other.density.shape != maps[0].density.shape:
            fail(f"{maps[0].path} and {other.path} have maps of different widths or pixels")
    if arguments.width:
        check_width(maps[0], arguments.width)
    elif arguments.type != "All":
        arguments.width = width_of(maps)
    return maps


def check_width(first, width):
    """A width that the maps of a run can be cropped to."""
    pixels = len(first.density)
    if width > 2 * first.half:
        fail(f"--width {width:g}: the maps of this run are {2 * first.half:.4g} wide (ProjectionSize); --follow makes "
             "wider ones of its snapshots")
    if width / (2 * first.half) * pixels < LEAST_PIXELS:
        fail(f"--width {width:g}: the maps of this run have pixels of {2 * first.half / pixels:.3g}, so the least "
             f"width is {LEAST_PIXELS * 2 * first.half / pixels:.3g}; --follow makes sharper maps of its snapshots")


def width_of(maps):
    """Twice the half-width that holds HELD of the mass of each map: the frame of a type that fills little of maps that
    are made for all."""
    pixels, half = len(maps[0].density), maps[0].half
    away = np.abs(np.arange(pixels) + 0.5 - pixels / 2)
    ring = np.maximum(away[:, None], away).astype(int)
    sums = [np.cumsum(np.bincount(ring.ravel(), m.density.ravel())) for m in maps if m.density.any()]
    cells = max((int(np.searchsorted(s, HELD * s[-1])) + 1 for s in sums), default=pixels)
    return min(max(1.05 * 2 * cells, LEAST_PIXELS) / pixels, 1.0) * 2 * half


def least_mass(maps):
    """The surface density of one particle in a pixel: where particles are few, most pixels that have any have one."""
    values = np.concatenate([m.density[m.density > 0] for m in maps] or [np.zeros(0)])
    if not len(values):
        fail("no mass inside the maps")
    return float(np.quantile(values, 0.02))


def numbers(density):
    """About how many particles are in the pixels of a map: where they are few, most pixels that have any have one."""
    values = density[density > 0]
    return density / np.quantile(values, 0.02) if len(values) else density


def cut_of(pixels, half, width):
    """How many pixels at each side of a map can be left out so that the others hold the width."""
    return int((1 - width / (2 * half)) * pixels / 2 * (1 + 1e-12)) if width else 0


def smooth(density, half, cut=0, fine=1, number=None):
    """The middle of a map, without `cut` pixels at each side, on a grid `fine` times as fine. Every pixel with
    particles is a Gaussian, as wide as those of its `number` of particles [numbers] are in maps of snapshots; beyond
    its edges the map is mirrored."""
    pixels = len(density)
    margin, side, shown = pixels // 4, 2 * half / pixels, half * (1 - 2 * cut / pixels)
    wide, many = (np.pad(grid, margin, mode="reflect") for grid in
                  (density, numbers(density) if number is None else number))
    row, column = np.nonzero(wide)
    return surface_density((column - margin + 0.5) * side - half, (row - margin + 0.5) * side - half,
                           wide[row, column] * side**2, shown, fine * (pixels - 2 * cut), FEW, many[row, column],
                           max(0.8, SHARPEST * fine))


def scale_of(maps, decades, width=None):
    """The colour scale that all maps share. Those of a run are smoothed, and cropped to a width; the scale ends where
    the widest Gaussians have few particles (those at an edge a quarter)."""
    lowest = 0.0
    if isinstance(maps[0], Map):
        pixels, half = len(maps[0].density), maps[0].half
        cut = cut_of(pixels, half, width)
        lowest = FEW / 4 * least_mass(maps) / (2 * np.pi * ((pixels - 2 * cut) / 12) ** 2)
        fine = -(-PIXELS // (pixels - 2 * cut))
        smoothed = together(lambda k: smooth(maps[k].density, half, cut, fine, maps[k].number), len(maps),
                            "maps smoothed")
        for m, density in zip(maps, smoothed):
            m.density, m.half = density, half * (1 - 2 * cut / pixels)
    top = max(float(m.density.max()) for m in maps)
    if not top > 0:
        fail("no mass inside the maps")
    return matplotlib.colors.LogNorm(vmin=min(max(top * 10**-decades, lowest), top / 2), vmax=top)


def times_of(maps):
    """A function that gives the time of a map in words: its digits do not change their number, so that the text does
    not jump."""
    units = maps[0].units.fit_times([m.time for m in maps])
    step = min((b.time - a.time for a, b in zip(maps, maps[1:])), default=0) * units.time_size
    names = list(Units.TIMES)
    unit, size = units.time_unit, units.time_size
    while unit not in ("", "Gyr", names[-1]) and 0 < step < 0.1:   # so that there are no more than two decimals
        smaller = names[names.index(unit) + 1]
        ratio = Units.TIMES[unit] / Units.TIMES[smaller]
        if maps[-1].time * size * ratio >= 1e5:   # nor many digits before the point
            break
        unit, size, step = smaller, size * ratio, step * ratio
    digits = 0 if step >= 10 else min(max(int(np.ceil(-np.log10(step))) + 1, 0), 9) if step > 0 else 3
    unit = f" {unit}" if unit else ""
    return lambda m: f"time {m.time * size:.{digits}f}{unit}"


def frame(maps, plane, what, norm, width=None, dots=120):
    """The figure with the first map, and a function that shows another one. width: of the picture [the maps]."""
    figure, axis = plt.subplots(figsize=INCHES, dpi=dots, layout="constrained")
    first = maps[0]
    half, units = first.half, first.units
    scale = matplotlib.colors.LogNorm(norm.vmin * units.surface_size, norm.vmax * units.surface_size)

    def shades(m):
        return np.maximum(m.density * units.surface_size, scale.vmin)

    image = axis.imshow(shades(first), origin="lower", extent=[-half, half, -half, half], cmap=DENSITY, norm=scale,
                        interpolation="bilinear")
    axis.grid(False)
    shown = (-width / 2, width / 2) if width else (-half, half)
    axis.set(xlabel=Units.label(plane[0], units.length), ylabel=Units.label(plane[1], units.length), xlim=shown,
             ylim=shown)
    for ticks in (axis.xaxis, axis.yaxis):
        ticks.set_major_locator(plt.MaxNLocator(5, steps=[1, 2, 5, 10]))
    bar = figure.colorbar(image, ax=axis, label=f"surface density [{units.surface or 'model units'}]", extend="min",
                          pad=0.02)
    log_ticks(bar.ax.yaxis, scale.vmin, scale.vmax)
    time_text = times_of(maps)
    title = axis.set_title("", fontsize=11)

    def show(m):
        image.set_data(shades(m))
        number = f", {count_text(m.count)}" if isinstance(m, SnapshotMap) else ""
        title.set_text(f"{what}{number}, {time_text(m)}")

    show(first)
    figure.canvas.draw()
    figure.set_layout_engine("none")   # nothing moves from now on
    return figure, show


def drawn(figure, maps, show):
    """The pictures of all maps in their order, arrays [row][column] of red, green and blue."""
    def picture(number):
        show(maps[number])
        figure.canvas.draw()
        return np.asarray(figure.canvas.buffer_rgba())[..., :3].copy()

    return together(picture, len(maps), "frames drawn")


def write_gif(figure, maps, show, path, fps, colours):
    """One palette for all frames and no dithering, so that colours do not flicker."""
    try:
        from PIL import Image
    except ImportError:
        fail("GIF needs the Python module Pillow (Debian: python3-pil); or name an .mp4 file, for which ffmpeg is "
             "needed")
    colours = [*colours, *((k / 55,) * 3 for k in range(56))]
    palette = Image.new("P", (1, 1))
    palette.putpalette([round(255 * part) for colour in colours for part in colour])
    frames = [Image.fromarray(picture).quantize(palette=palette, dither=0) for picture in drawn(figure, maps, show)]
    frames[0].save(path, format="GIF", save_all=True, append_images=frames[1:], duration=max(round(1000 / fps), 20),
                   loop=0, optimize=False)


def write_mp4(figure, maps, show, path, fps, _):
    width, height = figure.canvas.get_width_height()
    command = ["ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
               "-r", f"{fps:g}", "-i", "-", "-an", "-vcodec", "h264", "-pix_fmt", "yuv420p", "-crf", "18", "-f", "mp4",
               path]
    with tempfile.TemporaryFile() as said, \
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said) as ffmpeg:
        try:
            for picture in drawn(figure, maps, show):
                ffmpeg.stdin.write(picture.tobytes())
            ffmpeg.stdin.close()
        except BrokenPipeError:   # its last line says why
            pass
        if ffmpeg.wait():
            said.seek(0)
            raise RuntimeError(said.read().decode(errors="replace").strip() or "ffmpeg failed")


def check_movie(path):
    """What a movie needs is there, before the work."""
    if os.path.splitext(path)[1].lower() == ".mp4":
        if not shutil.which("ffmpeg"):
            fail("MP4 needs the program ffmpeg, which is not in PATH (Debian: ffmpeg); or name a .gif file")
    writable(path)


def write_movie(figure, maps, show, path, fps, colours):
    """A file is written completely or not at all; colours: 200 ones of its maps."""
    ending = os.path.splitext(path)[1].lower()
    part = f"{path}.{os.getpid()}.tmp"
    try:
        (write_mp4 if ending == ".mp4" else write_gif)(figure, maps, show, part, fps, colours)
        os.replace(part, path)
    except (OSError, RuntimeError) as error:
        fail(f"{path} cannot be written: {getattr(error, 'strerror', None) or str(error).splitlines()[0]}")
    finally:
        if os.path.exists(part):
            os.remove(part)
    print(f"{path}: {len(maps)} maps")


def group_of(text):
    """For argparse: 'all' or types to the group of a file, or to several."""
    words = text.split(",")
    if text != "all" and (len(set(words)) < len(words) or not all(word in tuple("012345") for word in words)):
        raise argparse.ArgumentTypeError("expected all, or numbers from 0 to 5 with commas between them, found "
                                         f"'{text}'")
    groups = tuple(f"PartType{word}" for word in words)
    return "All" if text == "all" else groups if len(groups) > 1 else groups[0]


def type_text(group):
    kinds = types_of(group)
    if kinds is None:
        return "all particles"
    return f"type{'s' if len(kinds) > 1 else ''} " + ", ".join(f"{kind} ({TYPES[kind]})" for kind in kinds)


def put(arguments, ending, figure, maps, show, colours):
    """The movie, or the picture of the last time."""
    if ending in MOVIES:
        write_movie(figure, maps, show, arguments.output, arguments.fps or min(FPS, max(len(maps) / LEAST, 1)), colours)
    else:
        show(maps[-1])
        save(figure, [arguments.output])


def draw_maps(arguments, ending):
    maps = of_run(arguments)
    norm = scale_of(maps, arguments.range, arguments.width)
    figure, show = frame(maps, arguments.axis, type_text(arguments.type), norm, arguments.width,
                         DOTS.get(ending, 120))
    put(arguments, ending, figure, maps, show, [plt.get_cmap(DENSITY)(k / 199)[:3] for k in range(200)])


def draw_group(arguments, ending):
    """Stars by their ids."""
    moments = moments_of(arguments.follow, snapshots_of(arguments.run))
    picture = Picture(moments, arguments.follow[1], arguments, times_of(moments), (*INCHES, DOTS.get(ending, 120)))
    put(arguments, ending, picture.figure, list(range(len(moments))), picture.show, picture.palette())


def frames_number(text):
    """For argparse: a number of frames."""
    if not (text.isascii() and text.isdigit() and int(text) <= 10000):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to 10000, found '{text}'")
    return int(text)


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    parser.add_argument("run", nargs="+", metavar="OUTPUTDIR|SNAPSHOT",
                        help="folder of a run, or of its maps; or snapshots")
    parser.add_argument("-o", "--output", metavar="FILE", default="movie.gif",
                        help="movie (.mp4, .gif) or picture (default: %(default)s)")
    parser.add_argument("--axis", default="xy", choices=["xy", "xz", "yz"],
                        help="plane of the maps (default: %(default)s)")
    parser.add_argument("--types", "--type", type=group_of, default="all", dest="type", metavar="T,T",
                        help="particle types, 0 to 5, or all (default: all)")
    add_units(parser)
    add_follow(parser)
    add_face_on(parser)
    parser.add_argument("--width", type=positive,
                        help="side of the picture, in the unit of length: crops the maps of a run (default: all of "
                             "them, of types what holds 97 %% of their mass; of snapshots: holds 97 %% of the "
                             "particles of the first; with ids: what is followed, at all times)")
    parser.add_argument("--trail", type=frames_number, default=TRAIL, metavar="N",
                        help="with ids: paths over the last N frames (default: %(default)s)")
    parser.add_argument("--fps", type=positive,
                        help=f"frames per second (default: {FPS}; fewer where the movie would last less than "
                        f"{LEAST} s, but at least 1)")
    parser.add_argument("--range", type=positive, default=4,
                        help="decades of density shown at most (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.range > 30 or (arguments.fps or FPS) > 100:
        parser.error("--range must be at most 30, --fps at most 100")
    ending = os.path.splitext(arguments.output)[1].lower()
    if ending in MOVIES:
        check_movie(arguments.output)
    elif ending in ENDINGS:
        outputs([arguments.output], None)
    else:
        fail(f"{arguments.output}: expected a name that ends in {', '.join(MOVIES + ENDINGS)}")
    if arguments.face_on is not None and arguments.follow and arguments.follow[0] == "ids":
        parser.error("--face-on turns discs: leave --follow ids out")
    by_ids = arguments.follow and arguments.follow[0] == "ids"
    (draw_group if by_ids else draw_maps)(arguments, ending)


if __name__ == "__main__":
    start(main)
