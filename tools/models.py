# SPDX-License-Identifier: GPL-3.0-or-later
"""The models that compare-schemes --all and calibrate-accuracy run, by name: what espalier ic makes, and users'
files."""
import math
import os
import re
import tempfile

from runs import Failed, call, fail, last_line

FAMILIES = {"plummer": ["plummer"], "hernquist": ["hernquist"], "king": ["king"], "cold": ["uniform"],
            "merger": ["merger"]}
LEAST_TIME = {"cold": 6, "merger": 6}   # beyond the collapse (at 4.1) and the first passage
MODEL_UNITS = {"GravityConstantInternal": "1"}
M31_UNITS = {"UnitMass_in_g": "1.989e41", "UnitVelocity_in_cm_per_s": "9.777922e5",
             "GravityConstantInternal": "4.4983315"}
NAMES = ("plummerK, hernquistK, kingK (2^K particles), cold and merger (20,000 particles, or coldK, mergerK), each "
         "also with another softening, as in plummer17-1e-5")


class Model:
    """A set of particles and what its runs need. step: a time step of about softening / (0.92 v_rms), by which step
    lengths are chosen; eta_scale: factor of Eta for the criterion `a`; dynamical: the dynamical time; least: shortest
    run in dynamical times;
    start: the time of the particles."""

    def __init__(self, name, particles, softening, step, path=None, make=None, units=None, dynamical=1.0, least=0.0,
                 criterion="min-av", eta_scale=1.0, start=0.0):
        self.name, self.particles, self.softening, self.step, self.path, self.make = (
            name, particles, softening, step, path, make)
        self.units = MODEL_UNITS if units is None else units
        self.dynamical, self.least, self.criterion, self.eta_scale, self.start = (
            dynamical, least, criterion, eta_scale, start)

    def length(self, times):
        """The time of a run of this number of dynamical times."""
        return max(times, self.least) * self.dynamical


def rule_softening(particles):
    """The softening for collisionless models in units G = M = 1, E = -1/4."""
    return 0.1 * particles**-0.26


def named(name, seed=1):
    """The model of this name, in units G = M = 1, E = -1/4, where v_rms = 0.71."""
    found = re.fullmatch(r"([a-z]+?)(\d*)(?:-(\d[0-9.e-]*))?", name)
    family, power, other = found.groups() if found else ("", "", None)
    if family not in FAMILIES or not (power or family in LEAST_TIME):
        fail(f"--models: there is no model '{name}': expected {NAMES}, m31 or galaxies")
    if power and not 6 <= int(power) <= 30:
        fail(f"--models: {name}: expected 2^6 to 2^30 particles")
    particles = 2**int(power) if power else 20000
    softening = rule = rule_softening(particles)
    if other is not None:
        try:
            softening = float(other)
        except ValueError:
            softening = 0.0
        if not 0 < softening < 1:
            fail(f"--models: {name}: expected a softening between 0 and 1 after '-', found '{other}'")
    small = softening < 0.1 * rule   # steps by the velocity, which cross the softening length, are then far too short
    return Model(name + (f"-seed{seed}" if seed != 1 else ""), particles, softening, rule / 0.65,
                 make=FAMILIES[family] + ["-n", str(particles), "-s", str(seed)], least=LEAST_TIME.get(family, 0),
                 criterion="a" if small else "min-av", eta_scale=math.sqrt(rule / softening) if small else 1.0)


def from_file(name, path, units, softening, criterion, espalier):
    """A model of a user's file: its numbers and times are those of espalier run --check."""
    with tempfile.TemporaryDirectory() as folder:
        ini = os.path.join(folder, "check.ini")
        with open(ini, "w") as file:
            file.write(f"[Input]\nInitCondFile = {os.path.abspath(path)}\n[Output]\nOutputDir = {folder}/out\n[Units]\n"
                       + "".join(f"{k} = {v}\n" for k, v in units.items())
                       + f"[Time]\nTimeMax = 1e6\n[Gravity]\nSoftening = {softening:g}\n")
        status, output = call([espalier, "run", "--check", "--force", ini])
    if status:
        fail(f"{path}: {last_line(output)}")

    def value(title, pattern):
        found = re.search(pattern, output)
        if not found:
            fail(f"{path}: espalier run --check does not say its {title}: {last_line(output)}")
        return float(found.group(1))
    return Model(name, int(value("number of particles", r", (\d+) particles")), softening,
                 softening / (0.92 * value("velocity dispersion", r"dispersion ([0-9.e+-]+)")), path=path, units=units,
                 dynamical=value("dynamical time", r"dynamical time ([0-9.e+-]+)"), criterion=criterion,
                 start=value("time", r"begins at +([0-9.e+-]+)"))


def write_models(runner, model, folder):
    """The model's file; a Failed run of espalier ic is an error."""
    try:
        runner.make(model, folder)
    except Failed as problem:
        fail(str(problem))
