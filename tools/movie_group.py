# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of espalier-plot movie that follow few stars by their ids: the stars with their paths over the last frames, in
the frame of their centre of mass, and all others as faint points."""
from plotting import Units, fail, legend_beside, line_colours, matplotlib, np, plt, same_units
from espalier_plots.measure import AXES
from follow import Frames
from snapshots import Snapshot

MARKS, SIZES = "os^Dv*P", (10, 7, 4.5)   # one that lies over another leaves its edge
OTHERS = "#9a9a9a"
TRAIL = 20   # frames


def types_of(group):
    """The types of a group of a file, or of several; None: all."""
    return None if group == "All" else [int(name[-1]) for name in ((group,) if isinstance(group, str) else group)]


class Moment:
    """The stars at one time: places[star][xyz] about their centre of mass, nan: gone."""

    def __init__(self, path, frames):
        self.path = path
        snapshot = Snapshot(path, ids=True)
        self.time, self.units = snapshot.time, snapshot.units
        self.centre = frames.of(snapshot)[0]
        pos, _, _, ids, _ = frames.arrays(snapshot)
        self.places = np.full((len(frames.which[1]), 3), np.nan)
        for place, star in zip(self.places, frames.which[1]):
            found = np.flatnonzero(ids == star)
            if len(found):
                place[:] = pos[found[0]] - self.centre

    def count(self):
        return int(np.isfinite(self.places[:, 0]).sum())

    def others(self, half, plane, group):
        """Points of all other particles (of a type) in the picture; read again, so that memory is for one snapshot."""
        snapshot = Snapshot(self.path)
        kinds, none = types_of(group), np.zeros((0, 3))
        pos = snapshot.all()[0] if kinds is None else np.concatenate([snapshot.pos.get(kind, none) for kind in kinds])
        pos = pos - self.centre
        points = pos[:, AXES[plane]]
        far = np.ones(len(pos), dtype=bool)
        for place in self.places:
            far &= (pos != place).any(axis=1)
        return points[far & (np.abs(points) <= half).all(axis=1)]


def moments_of(which, paths):
    """The moments of snapshots, by time."""
    frames = Frames(which)
    moments = [Moment(path, frames) for path in paths]
    moments.sort(key=lambda moment: moment.time)
    same_units(moments)
    return moments


def half_of(moments, plane, width):
    """Half of the width: given, or what holds the stars at all times."""
    if width:
        return width / 2
    half = 1.1 * float(np.nanmax(np.abs([moment.places[:, AXES[plane]] for moment in moments])))
    if not half > 0:
        fail("the particles that are followed are in one place; give --width")
    return half


class Picture:
    """The figure; show(k) draws moment k."""

    def __init__(self, moments, stars, arguments, time_text, size):
        self.moments, self.plane, self.type, self.trail = moments, arguments.axis, arguments.type, arguments.trail
        self.stars, self.time_text = stars, time_text
        self.half = half_of(moments, self.plane, arguments.width)
        units = moments[0].units
        self.figure, axis = plt.subplots(figsize=(size[0] + 0.7, size[1]), dpi=size[2], layout="constrained")
        axis.set(xlim=(-self.half, self.half), ylim=(-self.half, self.half), aspect="equal",
                 xlabel=Units.label(self.plane[0], units.length), ylabel=Units.label(self.plane[1], units.length))
        for ticks in (axis.xaxis, axis.yaxis):
            ticks.set_major_locator(plt.MaxNLocator(5, steps=[1, 2, 5, 10]))
        self.title = axis.set_title("", fontsize=11)
        self.rest, = axis.plot([], [], ".", color=OTHERS, markersize=3, alpha=0.5, label="others")
        self.colours = [matplotlib.colors.to_rgb(colour) for colour in line_colours(len(stars))]
        self.paths = [axis.add_collection(matplotlib.collections.LineCollection([], linewidths=1.2))
                      for _ in stars]
        self.marks = [axis.plot([], [], MARKS[k % len(MARKS)], color=colour, markeredgecolor="black",
                                markeredgewidth=0.5, markersize=SIZES[k % len(SIZES)], label=f"{star}, outside")[0]
                      for k, (star, colour) in enumerate(zip(stars, self.colours))]
        self.legend = legend_beside(axis, handles=[*self.marks, self.rest])
        self.show(0)
        for text, star in zip(self.legend.get_texts(), stars):
            text.set_text(f"{star}, outside")   # the longest
        self.figure.canvas.draw()
        self.figure.set_layout_engine("none")   # nothing moves from now on

    def show(self, number):
        moment, axes = self.moments[number], AXES[self.plane]
        self.rest.set_data(*moment.others(self.half, self.plane, self.type).T)
        past = np.array([m.places[:, axes] for m in self.moments[max(number - self.trail, 0):number + 1]])
        for k, mark in enumerate(self.marks):
            here = moment.places[k, axes]
            mark.set_data(*here[:, None])
            way = past[:, k] if np.isfinite(here).all() else past[:0, k]
            self.paths[k].set_segments(list(np.stack([way[:-1], way[1:]], axis=1)))
            self.paths[k].set_color([(*self.colours[k], 0.75 * (s + 1) / len(way)) for s in range(len(way) - 1)])
            state = "" if np.abs(here).max() <= self.half else ", gone" if np.isnan(here).any() else ", outside"
            self.legend.get_texts()[k].set_text(f"{self.stars[k]}{state}")
        count = moment.count()
        self.title.set_text(f"{count} particle{'s' * (count != 1)}, {self.time_text(moment)}")

    def palette(self):
        """200 colours of a GIF: those of the stars, fainter and fainter on white."""
        tones = max(200 // len(self.colours), 1)
        mixed = [tuple(1 - (1 - np.array(colour)) * (k + 1) / tones) for colour in self.colours for k in range(tones)]
        return mixed[:200] + [(1.0, 1.0, 1.0)] * (200 - len(mixed))
