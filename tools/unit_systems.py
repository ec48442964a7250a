# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of plots: snapshots, tables and maps are converted to the units that are drawn as they are read, those of the
option --units or plain ones."""
import argparse
import re

from espalier_plots.facts import POWERS
from espalier_plots.style import Units

LENGTHS = {"cm": 1.0, "m": 1e2, "km": 1e5, "Rsun": 6.957e10, "AU": 1.495978707e13, "pc": 3.0856775814913673e18}
LENGTHS.update(kpc=1e3 * LENGTHS["pc"], Mpc=1e6 * LENGTHS["pc"])
TIMES = {"s": 1.0, "min": 60.0, "day": 86400.0, "yr": 3.15576e7}
TIMES.update(kyr=1e3 * TIMES["yr"], Myr=1e6 * TIMES["yr"], Gyr=1e9 * TIMES["yr"])
MASSES = {"g": 1.0, "kg": 1e3, "Msun": 1.98841e33}
VELOCITIES = {f"{length}/{time}": a / b for length, a in LENGTHS.items() for time, b in TIMES.items()}
# [Units] System, and --units of espalier ic
SYSTEMS = {"galaxy": "kpc-km/s-1e10Msun", "cluster": "pc-km/s-Msun", "pc-myr": "pc-Myr-Msun"}
G_CGS = 6.67430e-8
EXPECTED = "expected galaxy, cluster or pc-myr, or a length, a time or velocity, and a mass: pc-Myr-Msun, " \
    "kpc-km/s-1e10Msun"
# As POWERS, of tables of a model of a galaxy.
MODEL_POWERS = [
    (r"[rR]|height", (1, 0, 0)),
    (r"density", (-3, 1, 0)),
    (r"surface_density", (-2, 1, 0)),
    (r"mass", (0, 1, 0)),
    (r"circular_velocity|rotation|sigma_(r|phi|z)", (0, 0, 1)),
    (r"energy", (0, 0, 2)),
    (r"f", (-3, 1, -3)),
]
wanted = None   # (text, cgs length, mass, velocity) of --units


def system(text):
    """For argparse: the units that are drawn, from now on."""
    global wanted
    given, cgs = SYSTEMS.get(text.lower(), text), {}
    for word in re.split(r"(?<!\d[eE])-", given):
        number, name = re.fullmatch(r"((?:\d+\.?\d*(?:[eE][-+]?\d+)?)?)\s*(.*)", word).groups()
        kind = next((kind for kind, units in (("length", LENGTHS), ("time", TIMES), ("mass", MASSES),
                                              ("velocity", VELOCITIES)) if name in units), None)
        if kind is None or kind in cgs or (number and not float(number) > 0):
            raise argparse.ArgumentTypeError(f"{EXPECTED}; found '{text}'")
        units = {"length": LENGTHS, "time": TIMES, "mass": MASSES, "velocity": VELOCITIES}[kind]
        cgs[kind] = float(number or 1) * units[name]
    if len(cgs) != 3 or "length" not in cgs or "mass" not in cgs:
        raise argparse.ArgumentTypeError(f"{EXPECTED}; found '{text}'")
    wanted = (text, cgs["length"], cgs["mass"], cgs.get("velocity") or cgs["length"] / cgs["time"])
    return wanted


def add_units(parser):
    parser.add_argument("--units", type=system, metavar="U",
                        help="draw in these units, as pc-Myr-Msun or kpc-km/s-1e10Msun, or galaxy, cluster, pc-myr; "
                             "tables that are written, and numbers of other options, are in them too (default: those "
                             "of the file, but km/s, and kpc, pc or solar masses in place of multiples of them)")


class Factors:
    """Numbers in units of the file times of(length, mass, velocity), its powers, are those in the units of --units, or
    without it in those of the file, if these have plain names, or the next ones that have (Units.drawn). ValueError:
    the file states no units, in words. facts: attributes of the file."""

    def __init__(self, facts, named, comoving=False):
        self.sizes, self.facts = (1.0, 1.0, 1.0), facts
        if wanted is None:
            drawn = Units.drawn(facts) if named and not comoving else None
            if drawn:
                self.take(drawn)
            return
        if comoving:
            raise ValueError("has comoving coordinates, in units with factors of h: leave --units out")
        if not named:
            raise ValueError(f"states no units, or a gravitational constant that is not theirs, so --units {wanted[0]} "
                             "has no meaning: leave it out")
        self.take(wanted[1:])
        self.facts["chosen"] = True

    def take(self, sizes):
        """Convert to units of these sizes in cgs."""
        names = "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"
        self.sizes = tuple(float(getattr(self.facts[name], "flat", [self.facts[name]])[0]) / size
                           for name, size in zip(names, sizes))
        self.facts = dict(zip(names, sizes))

    def of(self, length=0, mass=0, velocity=0):
        return self.sizes[0] ** length * self.sizes[1] ** mass * self.sizes[2] ** velocity

    def time(self):
        return self.of(1, 0, -1)

    def column(self, name, known=POWERS):
        """The factor of a column of a table."""
        return next((self.of(*powers) for pattern, powers in known if re.fullmatch(pattern, name)), 1.0)
