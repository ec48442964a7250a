# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames that follow a set of particles (--follow): a type, a group of a catalogue, what is near a point at the first
time, or particles by their ids."""
import argparse
import os
import re

from plotting import fail, np, some
from espalier_plots.galaxy import NoDisc, face_on, middle_of
from espalier_plots.measure import Followed, Members, near, of_type
from snapshots import Fault, open_hdf5

NUMBER = re.compile(r"_(\d{3,})(\.\d+)?\.(hdf5|h5)$")
FORMS = "all, type:T, group:K, ids:ID,ID... or x,y,z"
CENTRES = "all, type:T, ids:ID,ID... or x,y,z"
MOST_IDS = 24


def ids_of(text, option="--follow"):
    """The ids of ids:LIST, in the order given."""
    words = text.split(",")
    ids = [int(word) if word.isascii() and word.isdigit() and int(word) < 2**63 else None for word in words]
    bad = next((word for word, value in zip(words, ids) if value is None), None)
    twice = next((value for k, value in enumerate(ids) if value in ids[:k]), None)
    found = (f"found '{bad}'" if bad is not None else f"found {twice} twice" if twice is not None
             else f"found {len(ids)}" if len(ids) > MOST_IDS else None)
    if found:
        fail(f"{option} ids:{text}: expected 1 to {MOST_IDS} different whole numbers with commas between them, {found}")
    return tuple(ids)


def follow(text):
    """For argparse: (kind, value)."""
    if text == "all":
        return "all", None
    kind, _, value = text.partition(":")
    if kind == "ids":
        return kind, ids_of(value)
    if kind in ("type", "group") and value.isdigit() and (kind == "group" or int(value) <= 5):
        return kind, int(value)
    try:
        point = tuple(float(word) for word in text.split(","))
    except ValueError:
        point = ()
    if len(point) == 3 and np.isfinite(point).all():
        return "point", point
    raise argparse.ArgumentTypeError(f"expected {FORMS}, found '{text}'")


def add_follow(parser, **more):
    parser.add_argument("--follow", type=follow, metavar="SET",
                        help="the frame follows the densest part of these particles: all; type:T; "
                        "group:K, group K (0: the largest) of the catalogue fof_NNN.hdf5 beside the first snapshot; or "
                        "x,y,z, those near this place in the first snapshot; or ids:ID,ID..., stars of a pair or "
                        "multiple, whose centre of mass is followed: binaries.csv of a run ([Binaries] Interval) and "
                        "'espalier-plot binaries --table' have their ids", **more)


def centre(text):
    """For argparse: (kind, value) of a centre: all, type, ids or point."""
    if text.startswith("ids:"):
        return "ids", ids_of(text[4:], "--centre")
    try:
        kind, value = follow(text)
    except argparse.ArgumentTypeError:
        kind = "group"
    if kind == "group":
        raise argparse.ArgumentTypeError(f"expected {CENTRES}, found '{text}'")
    return kind, value


def type_number(text):
    """For argparse: 0 to 5."""
    if text not in ("0", "1", "2", "3", "4", "5"):
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 5, found '{text}'")
    return int(text)


def add_face_on(parser):
    parser.add_argument("--face-on", type=type_number, metavar="T",
                        help="turn the particles so that the angular momentum of type T points along z: xy is its disc "
                             "face-on, xz edge-on; the frame follows the type unless --follow says what (of a group or "
                             "place the particles of type T turn it)")


class Turn:
    """The axes of a disc in the frames of snapshots (--face-on); the first one chooses the direction of x."""

    def __init__(self, kind):
        self.kind, self.start = kind, None

    def axes(self, snapshot, frames, origin):
        """Rows are the axes of the disc at this snapshot, which has velocities."""
        pos, vel, mass, _, kinds = frames.arrays(snapshot)
        rows = kinds == self.kind
        if frames.needs_ids():
            rows &= frames.rows(snapshot)
        if not rows.any():
            fail(f"{snapshot.path} has no particles of type {self.kind}"
                 + (" among those that are followed" if frames.needs_ids() else "") + ", which --face-on needs")
        if not np.isfinite(vel[rows]).all():
            fail(f"{snapshot.path} has no velocities of type {self.kind}, which --face-on needs")
        try:
            centre, motion = middle_of(pos[rows], vel[rows], mass[rows], origin)
            axes = face_on(pos[rows] - centre, vel[rows] - motion, mass[rows], self.start)
        except NoDisc as fault:
            fail(f"{snapshot.path}: type {self.kind} {fault}")
        self.start = axes[0] if self.start is None else self.start
        return axes


def group_ids(snapshot, group):
    """The ids of a group's members, of the catalogue that belongs to a snapshot."""
    number = NUMBER.search(snapshot)
    if not number:
        fail(f"{snapshot} has no number NNN in its name, so it has no catalogue fof_NNN.hdf5; name a type or a place "
             "to follow")
    path = os.path.join(os.path.dirname(snapshot), f"fof_{number[1]}.hdf5")
    try:
        with open_hdf5(path) as file:
            lengths, offsets = file["Group/GroupLen"][()], file["Group/GroupOffset"][()]
            if group >= len(lengths):
                fail(f"{path} has {len(lengths)} groups, so there is no group {group}: they count from 0")
            ids = file["IDs/ID"][int(offsets[group]):int(offsets[group] + lengths[group])]
            return ids
    except Fault as fault:
        fail(f"{path} {fault}" + (": runs with Groups = on, and espalier groups, write catalogues"
                                  if not os.path.exists(path) else ""))
    except (KeyError, OSError, TypeError, ValueError) as error:
        fail(f"{path} is no catalogue of groups: {error}")


def set_name(which):
    """The set in words, for legends."""
    kind, value = which
    if kind == "point":
        return "near " + ", ".join(f"{x:.4g}" for x in value)
    if kind == "ids":
        return "ids " + some(list(map(str, value)), 6)
    return kind if value is None else f"{kind} {value}"


class Frames:
    """Frames of snapshots for one set; the first snapshot chooses its particles."""

    def __init__(self, which):
        self.which, self.set = which, None

    def needs_ids(self):
        return self.which[0] in ("group", "point", "ids")

    def arrays(self, snapshot):
        """pos, vel (None: not known), mass, ids, types of a snapshot, as rows in the order of Snapshot.all()."""
        pos, mass = snapshot.all()
        kinds = np.concatenate([np.full(len(p), kind) for kind, p in snapshot.pos.items()])
        vel = np.concatenate(list(snapshot.vel.values())) if snapshot.vel else None
        ids = np.concatenate(list(snapshot.ids.values())) if snapshot.ids else np.arange(len(mass))
        return pos, vel, mass, ids, kinds

    def choose(self, snapshot):
        kind, value = self.which
        if kind == "group":
            return Followed(group_ids(snapshot.path, value))
        if kind == "ids":
            return Members(value)
        if kind == "all":
            return Followed(lambda pos, mass, ids, types: np.full(len(mass), True))
        return Followed(near(value) if kind == "point" else of_type(value))

    def check_ids(self, snapshot, ids):
        """The first snapshot has all ids that are followed, a later one some of them."""
        absent = [value for value in self.which[1] if value not in ids]
        if absent and self.set is None:
            fail(f"{snapshot.path} has no particle {absent[0]}: expected ids of its particles, {ids.min()} to "
                 f"{ids.max()}")
        if len(absent) == len(self.which[1]):
            fail(f"{snapshot.path} has none of the particles that are followed any more ({set_name(self.which)}): "
                 "draw the snapshots before it")

    def rows(self, snapshot):
        """Mask of the set's particles."""
        pos, _, mass, ids, kinds = self.arrays(snapshot)
        if self.which[0] == "ids":
            self.check_ids(snapshot, ids)
        if self.set is None or not self.needs_ids():   # types may be found in each snapshot
            self.set = self.choose(snapshot)
        found = self.set.rows(pos, mass, ids, kinds)
        if not found.any() or (self.which[0] != "ids" and not mass[found].sum() > 0):
            fail(f"{snapshot.path} has no particles with mass of the set that is followed ({set_name(self.which)})")
        return found

    def of(self, snapshot):
        """Origin and velocity (None: not known) of the frame at this snapshot."""
        self.rows(snapshot)
        pos, vel, mass, ids, kinds = self.arrays(snapshot)
        return self.set.frame(pos, vel, mass, ids, kinds)
