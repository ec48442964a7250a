# SPDX-License-Identifier: GPL-3.0-or-later
"""pyespalier, by its public names. Prints TAP. With a folder as argument: a run of the program there is compared bit by
bit."""
import sys

import numpy as np

import espalier

done = failures = 0


def ok(holds, what):
    global done, failures
    done += 1
    failures += not holds
    print(f"{'ok' if holds else 'not ok'} {done} - {what}", flush=True)


def refused(kind, words, call):
    """Whether the call raises this exception with these words."""
    try:
        call()
    except kind as error:
        if words in str(error):
            return True
        print(f"# expected '{words}', found: {error}")
    except Exception as error:
        print(f"# expected {kind.__name__}, found {type(error).__name__}: {error}")
    return False


model = espalier.ic.plummer(1000)
pos, vel, mass = model.pos, model.vel, model.mass
new = espalier.Simulation
ok(repr(model) == "<Snapshot: 1000 particles of type 1, time 0>", "a snapshot in short")
ok(len(model) == 1000 and abs(mass.sum() - 1) < 1e-6 and pos.shape == (1000, 3), "a model as arrays")

# errors of every kind
ok(refused(espalier.ParameterError, "did you mean 'Softening'", lambda: new(model, Softning=1)), "an unknown parameter")
ok(refused(espalier.ParameterError, "number", lambda: new(model, Softening="wide")), "a parameter that is no number")
ok(refused(espalier.ArgumentError, "masses", lambda: new(pos)), "no masses")
ok(refused(espalier.ArgumentError, "(n, 3)", lambda: new(pos.T, mass=1)), "the wrong shape")
ok(refused(espalier.ArgumentError, "1000 numbers", lambda: new(pos, mass=mass[:5])), "too few masses")
ok(refused(espalier.ArgumentError, "whole numbers", lambda: new(model, types=-1)), "a negative type")
ok(refused(espalier.ParticlesError, "finite", lambda: new(pos * np.nan, mass=1)), "positions that are not finite")
ok(refused(espalier.ParticlesError, "type 9", lambda: new(pos, mass=1, types=9)), "an unknown type")
ok(refused(espalier.ParticlesError, "id", lambda: new(pos, mass=1, ids=np.zeros(1000, int))), "ids that occur twice")
ok(refused(espalier.FileError, "absent", lambda: espalier.read("absent.hdf5"))
   and refused(OSError, "absent", lambda: new.from_file("absent")),
   "a file that is not there")
ok(refused(espalier.ArgumentError, "did you mean", lambda: espalier.ic.model("plumer", 5)), "an unknown model")
ok(refused(ValueError, "unknown option", lambda: espalier.ic.king(100, depth=3)), "an unknown option of a model")
scaled = espalier.ic.plummer(600, virial_radius=2, total_mass=5000, binaries=1, virial_ratio=1)
ok(abs(scaled.parameters["UnitLength_in_cm"] / 6.1713552e18 - 1) < 1e-9
   and abs(scaled.parameters["UnitMass_in_g"] / 9.94205e36 - 1) < 1e-9, "a model in pc states its units")
ok(len(scaled.binaries()) == 300, "and its binaries are found")
for gravity in ({}, {"G": 2}):
    units = {} if gravity else {name: scaled.parameters[name] for name in scaled.parameters if "Unit" in name}
    with new(scaled.pos, scaled.vel, scaled.mass, softening=1e-3, force=True, **gravity, **units) as sim:
        found = sim.binaries()
        ratio = np.median(found["a"]) / np.median(scaled.binaries()["a"])
        ok(found.dtype == scaled.binaries().dtype and len(found) > 290 and (ratio < 0.9 if gravity else
                                                                              abs(ratio - 1) < 1e-5),
           f"a simulation has its binaries {gravity}")
        found, same = sim.cluster(softening=1e-3), scaled.cluster(softening=1e-3)
        ok(found["stars"] == 600 and found["pairs"] > 290 and abs(found["half_mass_radius"] / same["half_mass_radius"]
                                                                  - 1) < 1e-9 and np.isnan(found["jacobi_radius"])
           and found["escapers"] == 600 - found["bound_stars"], f"and the cluster that it is {gravity}")
found = model.cluster(tide=0.01)
half = model.lagrangian_radii([0.5 * found["bound_mass"]], found["centre"])[0]
ok(abs(found["half_mass_radius"] / half - 1) < 0.01 < found["core_radius"] < 0.5
   and 950 < found["bound_stars"] <= found["jacobi_stars"] < 990
   and abs(found["jacobi_radius"]**3 * 0.01 / found["jacobi_mass"] - 1) < 1e-9
   and found["jacobi_stars"] + found["escapers"] == 1000 and np.isnan(found["segregation"])
   and abs(found["relaxation_time"] - 0.138 * found["bound_stars"] * found["half_mass_radius"]**1.5
           / found["bound_mass"]**0.5 / np.log(0.11 * found["bound_stars"])) < 1e-9, "the numbers of a cluster")
# some that leave, and beside the others one without mass and one at rest far outside
r = np.random.default_rng(5).permutation(len(model) + 2)
wide = espalier.Snapshot(*(np.concatenate([old, new_ones])[r] for old, new_ones in (
    (model.pos, [[1, 0, 0], [9, 0, 0]]), (model.vel * np.where(model.ids % 9 == 0, 3, 1)[:, None], np.zeros((2, 3))),
    (model.mass, [0, 1e-3]), (model.ids, np.array([5000, 5001], dtype=np.uint64)), (model.types, model.types[:2]))),
    parameters=model.parameters)
far, empty = (int(np.flatnonzero(wide.ids == number)[0]) for number in (5001, 5000))
masks = {tide: wide.bound(tide=tide) for tide in (0, 0.01, 0.3)}
numbers = {tide: wide.cluster(tide=tide) for tide in masks}
ok(all(mask.dtype == bool and mask.shape == (1002,) and not mask[empty] and mask.sum() == numbers[tide]["bound_stars"]
       and abs(wide.mass[mask].sum() / numbers[tide]["bound_mass"] - 1) < 1e-12 for tide, mask in masks.items())
   and numbers[0]["bound_stars"] < 950, "the bound stars are those of the cluster")
held = masks[0.3] & (wide.radii(numbers[0.3]["centre"]) > 0)
edge = np.cbrt(wide.mass[held].sum() / 0.3)
ok(masks[0][far] and not masks[0.01][far] and masks[0].sum() > masks[0.01].sum() > masks[0.3].sum() > 500
   and wide.radii(numbers[0.3]["centre"])[held].max() <= edge < wide.radii(numbers[0.3]["centre"])[masks[0]].max()
   and numbers[0.3]["bound_mass"] <= numbers[0.3]["jacobi_mass"], "in a tide none beyond their Jacobi radius")
with new(wide.pos, wide.vel, wide.mass, softening=0, force=True, TidalField="omega=0.3 kappa=0.4") as sim:
    shot = sim.snapshot()
    ok(abs(shot.tide - 0.2) < 1e-12 and shot.omega == 0.3 and np.array_equal(sim.bound(), wide.bound(
        tide=0.2, omega=0.3)) and not np.array_equal(sim.bound(), masks[0]), "the tide of a simulation")
    sim.save("python-tide.hdf5")
snap = espalier.read("python-tide.hdf5")
try:
    import h5py
except ImportError:
    h5py = None
ok(h5py is None or (abs(snap.tide - 0.2) < 1e-6 and np.isfinite(snap.cluster()["jacobi_radius"])
                    and np.isnan(snap.cluster(tide=0)["jacobi_radius"])
                    and abs(snap.cluster()["bound_mass"] / snap.mass[snap.bound()].sum() - 1) < 1e-12
                    and snap.cluster()["bound_stars"] == sum(wide.bound(tide=0.2, omega=0.3))), "the tide of a file")
ok(refused(ValueError, "3 stars with mass are too few", lambda: espalier.ic.plummer(3).cluster())
   and refused(ValueError, "3 stars with mass are too few", lambda: espalier.ic.plummer(3).bound())
   and refused(ValueError, "cluster: the snapshot states neither", lambda: espalier.Snapshot(
       pos, vel, mass, model.ids, model.types).cluster()), "what is no cluster")

# steps
settings = {"softening": 0.01, "Tuning": "frozen", "Repeatable": True}
sim = new(model, **settings)
first = sim.sums
ok(sim.integrate(0.2) is sim and sim.time == 0.2 and sim.steps > 0, "a time is reached")
last = sim.sums
ok(abs(last.total / first.total - 1) < 1e-4 and np.abs(last.momentum - first.momentum).max() < 1e-4,
   "energy and momentum are kept")
times = []
snaps = list(sim.run(0.5, 0.1, callback=lambda s: times.append(s.time), progress=False))
ok([round(s.time, 9) for s in snaps] == [0.3, 0.4, 0.5] and times[-1] == 0.5, "snapshots of a run, and callbacks")
ok(refused(ZeroDivisionError, "", lambda: sim.integrate(9, lambda s: 1 / 0)) and sim.time < 9,
   "an exception in a callback")
ok(sim.integrate(9, lambda s: True).time < 9, "a callback ends the integration")
closing = espalier.Simulation(espalier.ic.plummer(100), softening=0.1)
closing.integrate(9, lambda s: s.close())
ok(True, "a callback may close the simulation")
ok(refused(espalier.ArgumentError, "until", lambda: sim.integrate(float("inf"))), "an end that is none")

# particles
ids = np.random.default_rng(1).permutation(1000) + 5
with new(pos, vel, mass, ids=ids, **settings) as other:
    ok((other.pos == pos).all() and (other.ids == ids).all(), "arrays stay in the order in which they were given")
    other.vel = 2 * vel
    ok(np.allclose(other.vel, 2 * vel, atol=1e-12) and abs(other.sums.kinetic / first.kinetic - 4) < 1e-3,
       "velocities are changed")
    other.mass = 2 * mass
    ok(abs(other.sums.mass - 2) < 1e-5, "masses are changed")
    acc, pot = other.forces()
    exact, _ = other.forces(other.pos, exact=True)
    ok(np.median(np.linalg.norm(acc - exact, axis=1) / np.linalg.norm(exact, axis=1)) < 3e-3 and pot.max() < 0,
       "forces")
    walked, _ = other.forces(2 * pos)
    exact, _ = other.forces(2 * pos, exact=True)
    ok(np.median(np.linalg.norm(walked - exact, axis=1) / np.linalg.norm(exact, axis=1)) < 3e-3, "forces at points")
    view = other.view()
    ok(not view["pos"].flags.writeable and np.isclose(np.sort(view["mass"]).sum(), 2, rtol=1e-5),
       "a view without a copy")
    other.replace(pos[:10], mass=1.0)
    ok(len(other) == 10 and other.sums.kinetic < 1e-12, "other particles")
ok(refused(espalier.ArgumentError, "closed", lambda: other.time), "a simulation that is closed")

# changes of stars between soft steps: a table of masses by time, as of their evolution, and kicks
stars = espalier.ic.plummer(500, mass_function="kroupa", binaries=0.5)
with new(stars, softening=0, accuracy=1e-6, ids=stars.ids[::-1] + 5, force=True) as sim_stars:
    born, heavy, start = sim_stars.mass, np.argsort(sim_stars.mass)[-20:], sim_stars.sums
    who, table = sim_stars.ids[heavy], np.linspace(1, 0.5, 11)
    for fraction in table[1:]:
        sim_stars.step()
        sim_stars.change(who, mass=fraction * born[heavy])
    sim_stars.change(who[:2], kick=[[0.1, 0, 0], [0, 0.1, 0]])
    sim_stars.step()
    sums, lost = sim_stars.sums, 0.5 * born[heavy].sum()
    ok(np.allclose(sim_stars.mass[heavy], 0.5 * born[heavy], rtol=1e-6) and abs(start.mass - sums.mass - lost) < 1e-6,
       "stars lose mass")
    error = (sums.total - sums.changes - start.total) / abs(start.total)
    print(f"# lost {lost:.4f}, energy of changes {sums.changes:.6f}, error {error:.1e}")
    ok(sums.changes > 0.01 and abs(error) < 1e-5, "the energy without changes is kept")
    sim_stars.save("python-stars.hdf5")
    ok(abs(new.from_file("python-stars.hdf5", softening=0, force=True).sums.changes - sums.changes) < 1e-12,
       "a snapshot keeps that of changes")
    ok(refused(espalier.ParticlesError, "id 9: expected a mass", lambda: sim_stars.change([9], mass=-1))
       and refused(espalier.ParticlesError, "no particle has the id 1", lambda: sim_stars.change([1], mass=0.1))
       and refused(espalier.ParticlesError, "named twice", lambda: sim_stars.change([9, 9], mass=0.1))
       and refused(espalier.ArgumentError, "kick: expected the shape", lambda: sim_stars.change([9], kick=[1, 2]))
       and refused(espalier.ArgumentError, "masses or kicks", lambda: sim_stars.change([9]))
       and sim_stars.sums.changes == sums.changes, "changes that are refused")

# files
sim.save("python-test.hdf5")
again, snap = new.from_file("python-test.hdf5", **settings), espalier.read("python-test.hdf5")
ok(again.time == sim.time == snap.time and np.allclose(again.pos, sim.pos, atol=1e-12),
   "a snapshot is written and read")
ok(again.parameter("Softening") == "0.01" and again.parameter("GravityConstantInternal") == "1", "parameters in use")

if len(sys.argv) > 1:
    lines = open(f"{sys.argv[1]}/two.log").read()
    ok(lines.count("True") == 2, "two ranks")
    if lines.count("True") != 2:
        print("# " + lines.replace("\n", "\n# "))
    ic, out = (espalier.read(f"{sys.argv[1]}/{name}") for name in ("ic.hdf5", "output/snapshot_001.hdf5"))
    same = new(ic, softening=0.01, TimeMax=0.25, Tuning="frozen", Repeatable=True)
    same.integrate(0.25)
    order = np.argsort(out.ids)
    energy, steps = (espalier.table(f"{sys.argv[1]}/output/{name}.csv") for name in ("energy", "steps"))
    ok(abs(energy["time"][-1] - 0.25) < 1e-12 and energy["total"].dtype == float and steps["step"].dtype == np.int64
       and energy.units is None and energy.comments[0].startswith("espalier ") and "rows: time, " in repr(energy)
       and refused(ValueError, "states no units", lambda: energy.quantity("total"))
       and refused(OSError, "cannot be read", lambda: espalier.table("absent.csv")), "a table of a run")
    try:
        import h5py
    except ImportError:
        h5py = None
    ok(model.softenings is None and same.snapshot().softenings[1] == 0.01
       and (h5py is None or np.allclose(out.softenings, 0.01, rtol=1e-6)), "the softening of a snapshot")
    ok(h5py is None or (out.potential is not None and out.potential.shape == out.mass.shape
                        and (out.potential < 0).all()), "the potentials of a snapshot")
    ok(np.array_equal(same.ids, out.ids[order]) and np.array_equal(same.pos, out.pos[order])
       and np.array_equal(same.vel, out.vel[order]), "the program's bits")


class Length:
    """A quantity of a library whose units are texts."""

    value, unit = 50, "pc"


GALAXY = {"UnitLength_in_cm": "1 kpc", "UnitMass_in_g": "1e10 Msun", "UnitVelocity_in_cm_per_s": "1 km/s"}
fast = vel * 207.4   # in equilibrium with the G of these units
texts = new(pos, fast, mass, softening="50 pc", SoftStep="1 Myr", **GALAXY)
ok(float(texts.parameter("Softening")) == 0.05 and abs(float(texts.parameter("SoftStep")) * 977.79 - 1) < 1e-4,
   "texts with units")
ok(float(new(pos, fast, mass, softening=Length(), **GALAXY).parameter("Softening")) == 0.05,
   "quantities of any library")
ok(new(pos, fast, mass, softening="50 pc", System="galaxy").parameter("Softening") == "0.05", "units by name")
ok(refused(espalier.ParameterError, "the run is dimensionless, with G = 1",
           lambda: new(pos, vel, mass, softening="50 pc")), "units without [Units]")
ok(refused(espalier.ParameterError, "Softening: expected a length, for example 50 pc, found '1 Gyr': that is a time",
           lambda: new(pos, vel, mass, softening="1 Gyr", **GALAXY)), "a unit of another dimension")
try:
    from astropy import units as u
except ImportError:
    ok(True, "units # SKIP no astropy")
else:
    for given, name, value in ((50 * u.pc, "Softening", 0.05), (5e4 * u.Unit("1e-3 pc"), "Softening", 0.05),
                               (1 * u.lyr, "Softening", u.lyr.to(u.kpc)),
                               (2 * u.h, "WatchdogMinutes", 120), (2 * u.km / u.s * u.Gyr, "R1", 2.045424),
                               (3 * u.km**2 / u.s**2 / u.kpc, "ErrTolMultipole", 3)):
        found = float(new(pos, fast, mass, **{"Softening": 0.01, **GALAXY, name: given}).parameter(name))
        ok(abs(found / value - 1) < 1e-6, f"{name}: {given}")
    kpc = new(pos * 1000 * u.pc, vel * 100 * u.km / u.s, mass * 2e10 * u.Msun, softening=10 * u.pc,
              units=(u.kpc, 1e10 * u.Msun, u.km / u.s))
    kpc.change([1], mass=u.Quantity([2e8], u.Msun), kick=[[3, 0, 0]] * u.km / u.s)
    ok(np.isclose(kpc.mass[0].to_value(u.Msun), 2e8) and kpc.sums.changes.unit.is_equivalent(u.J),
       "changes that have units")
    kpc.change([1], mass=[2e7] * u.Msun, kick=[[-3, 0, 0]] * u.km / u.s)
    ok(np.isclose(kpc.pos[0, 0].to_value(u.kpc), pos[0, 0]) and kpc.sums.total.unit.is_equivalent(u.J)
       and float(kpc.parameter("Softening")) == 0.01, "units of astropy")
    shot = kpc.snapshot()
    ok(np.isclose(shot.quantity("pos", "pc")[0, 0].value, 1000 * pos[0, 0]) and
       np.isclose(shot.quantity("mass", "Msun")[0].value, 2e10 * mass[0], rtol=1e-6)
       and np.isclose(shot.units["time"].to("s"), u.kpc.to("km"))
       and refused(ValueError, "expected one of", lambda: shot.quantity("x")) and espalier.ic.plummer(9).units is None
       and refused(ValueError, "states no units", lambda: espalier.ic.plummer(9).quantity("pos")), "quantities")
    with_units, chosen = shot.in_units(), shot.in_units(length="pc", time="Myr")
    ok(with_units.pos.unit == u.kpc and with_units.mass.unit == u.Msun and with_units.vel.unit == u.km / u.s
       and with_units.time.unit == u.Gyr and chosen.pos.unit == u.pc and chosen.time.unit == u.Myr
       and np.allclose(chosen.pos.value, 1000 * shot.pos) and np.allclose(with_units.vel.value, shot.vel)
       and np.allclose(with_units.mass.value, 1e10 * shot.mass) and np.array_equal(chosen.ids, shot.ids)
       and len(chosen) == len(shot), "fields that have units")
    half = shot.lagrangian_radii([0.5], centre=[0, 0, 0])
    ok(np.allclose(chosen.lagrangian_radii([0.5], centre=[0, 0, 0] * u.kpc).value, 1000 * half)
       and np.allclose(with_units.densest().value, shot.densest())
       and np.allclose(chosen.radii([1, 0, 0] * u.kpc).to_value(u.kpc), shot.radii([1, 0, 0])), "radii that have units")
    plain, found = shot.cluster(tide=2.0), with_units.cluster(tide=2.0 * (u.km / u.s / u.kpc)**2)
    ok(all(np.allclose(np.asarray(found[name]), np.asarray(plain[name]) * factor, equal_nan=True)
           for name, factor in (("centre", 1), ("velocity", 1), ("bound_mass", 1e10), ("half_mass_radius", 1),
                                ("jacobi_radius", 1), ("bound_stars", 1), ("pairs", 1), ("binary_energy", 1e10)))
       and np.isclose(found["relaxation_time"].to_value(u.kpc / (u.km / u.s)), plain["relaxation_time"])
       and found["bound_mass"].unit == u.Msun
       and np.array_equal(with_units.bound(), shot.bound()), "numbers of a cluster that have units")
    ok(with_units.binaries(limit=1.0)["a"].unit == u.kpc
       and np.allclose(with_units.binaries(limit=1.0)["a"].value, shot.binaries(limit=1.0)["a"]),
       "elements that have units")
    ok(refused(ValueError, "expected length, mass, speed or time", lambda: shot.in_units(size="pc"))
       and refused(ValueError, "length: expected a unit as kpc", lambda: shot.in_units(length="Myr"))
       and refused(ValueError, "states no units", lambda: espalier.ic.plummer(9).in_units())
       and refused(AttributeError, "without units are in .snap", lambda: shot.in_units().x), "units that are refused")
    own, gyr = shot.units, espalier.Snapshot(pos, vel, mass, model.ids, model.types, 1.0, parameters={
        "UnitLength_in_cm": 3.085678e18, "UnitMass_in_g": 1.98841e33, "UnitVelocity_in_cm_per_s": 97779.22}).units
    ok(own["length"] == u.kpc and str(own["speed"]) == "km / s" and str(own["mass"]).endswith("solMass")
       and str(gyr["speed"]) == "pc / Myr" and gyr["time"] == u.Myr, f"names of units: {own} {gyr}")
    rows = chosen.table()
    ok(rows["pos"].unit == u.pc and rows["vel"].unit == u.km / u.s and rows.meta["time"].unit == u.Myr
       and np.array_equal(rows["id"], shot.ids), "a table in these units")
    with open("python-table.csv", "w") as file:
        file.write("# UnitLength_in_cm = 3.08568e+18, UnitMass_in_g = 1.98841e+33, UnitVelocity_in_cm_per_s = 50000\n"
                   "time,type,r_50,mass,event,dispersion\n0,1,0.5,3,formed,2.5\n2,2,,4,dissolved,3\n")
    rows = espalier.table("python-table.csv")
    ok(list(rows["type"]) == [1, 2] and np.isnan(rows["r_50"][1]) and rows["event"][1] == "dissolved"
       and np.isclose(rows.quantity("r_50", "pc")[0].value, 0.5, rtol=1e-5)
       and np.isclose(rows.quantity("time", "Myr")[1].value, 4 * 0.977792, rtol=1e-5)
       and rows.quantity("dispersion").unit == u.km / u.s == rows.table()["dispersion"].unit
       and np.isclose(rows.quantity("dispersion")[1].value, 1.5)
       and np.isclose(rows.quantity("dispersion", "pc/Myr")[1].value, 1.5 * 1.022712, rtol=1e-5)
       and rows.table()["r_50"].unit.is_equivalent(u.pc), "a table with units")
    rows = shot.table()
    bare = espalier.ic.plummer(9).table()
    ok(rows.colnames[:5] == ["id", "type", "mass", "pos", "vel"] and len(rows) == len(shot)
       and np.isclose(rows["pos"][0, 0].to_value(u.pc), 1000 * pos[0, 0]) and rows["vel"].unit.is_equivalent(u.km / u.s)
       and rows.meta["time"].unit.is_equivalent(u.Myr) and np.array_equal(rows["id"], shot.ids)
       and not hasattr(bare["mass"], "to_value"), "a table of astropy")
    kpc.integrate(1 * u.Myr)
    ok(abs(kpc.time.to_value(u.Myr) - 1) < 1e-12, "times with units")

# galaxies: an elliptic disc of N = 20000 that turns as a whole by 2
flat = espalier.ic.plummer(20000).pos * [1.5, 1, 0.1]
bars = []
for at in (0.0, 0.3):
    c, s = np.cos(2 * at), np.sin(2 * at)
    places = flat @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    speeds = np.cross([0, 0, 2.0], places)
    bars.append(espalier.Snapshot(places + 3, speeds, np.full(20000, 5e-5), np.arange(20000), np.full(20000, 2), at,
                                  parameters={"GravityConstantInternal": 1.0}))
disc = bars[0].disc(softening=0.01)
rings, (strengths, phases) = disc.rings(edges=np.linspace(0, 2, 11)), disc.modes(outer=1.0)
turn = np.exp(2j * np.arctan2(flat[:, 1], flat[:, 0]))[np.hypot(flat[:, 0], flat[:, 1]) < 1]
ok(isinstance(disc, espalier.Disc) and disc.type == 2 and np.allclose(rings["v_phi"], 2 * rings["R"], rtol=0.02)
   and abs(disc.speed(outer=1.0) / 2 - 1) < 0.01
   and abs(strengths[1] / abs(turn.mean()) - 1) < 0.01 and abs(phases[1]) < 0.05, "rings, modes and speed of a disc")
ok(np.allclose(rings["v_c"], disc.circular(rings["R"]), rtol=0.02) and rings["Q"].max() < 0.2, "its circular velocity")
times, speeds = espalier.pattern_speed(bars, within=1.0)
ok(times[0] == 0.15 and abs(speeds[0] / 2 - 1) < 0.01, "a pattern speed of two snapshots")
ok(refused(espalier.ArgumentError, "has no particles with mass of type 4", lambda: bars[0].disc(4))
   and refused(espalier.ArgumentError, "does not rotate", lambda: espalier.ic.plummer(1000).disc())
   and refused(espalier.ArgumentError, "two or more ascending times", lambda: espalier.pattern_speed(bars[:1])),
   "discs that are none")
try:
    import matplotlib
except ImportError:
    ok(True, "pictures # SKIP no matplotlib")
else:
    matplotlib.use("Agg")
    from espalier_plots import measure

    sphere = espalier.ic.plummer(20000)
    sphere.vel[:, 1] += 2.0 * sphere.pos[:, 0]
    shown = sphere.plot("xz", width=2.0, centre=[0, 0, 0], pixels=64).images[0].get_array()
    grid = measure.surface_density(sphere.pos[:, 0], sphere.pos[:, 2], sphere.mass, 1.0, 64)
    ok(np.allclose(np.asarray(shown), np.maximum(grid, grid.max() * 1e-4)), "a map is that of the tools")
    flow = sphere.plot("xz", "velocity", width=2.0, centre=[0, 0, 0], pixels=64)
    mean, places = np.asarray(flow.images[0].get_array()), (np.arange(64) + 0.5) / 32 - 1
    ok(np.nanmedian(np.abs(mean - 2 * places[None, :])) < 0.15
       and flow.get_title(loc="left").replace("$", "").endswith("20,000"), "mean velocities along the line of sight")
    ok(sphere.plot("xy", "dispersion").get_xlabel() == "x" and sphere.plot_phase("r").get_ylabel() == "$v_r$",
       "dispersions and phase space")
    ok(sim.plot("xz").get_ylabel() == "z" and sim.plot_phase("x").get_xlabel() == "x"
       and sim.plot_profile(color="k").get_xscale() == "log",
       "pictures of a simulation")
    figure = espalier.plots.maps(snaps, quantities=("density", "velocity", "dispersion"), follow=snaps[0].ids[:300],
                                 pixels=32)
    radii = espalier.plots.lagrangian(snaps, fractions=(0.1, 0.5), types=1)
    ok(len(figure.axes) == 12 and len(radii.lines) == 2
       and np.allclose(radii.lines[1].get_ydata()[0], snaps[0].lagrangian_radii([0.5])),
       "maps side by side, Lagrangian radii")
    ok(refused(espalier.ArgumentError, "found 'xw'", lambda: sim.plot("xw"))
       and refused(espalier.ArgumentError, "no particles", lambda: sim.plot(types=4))
       and refused(espalier.ArgumentError, "found 'speed'", lambda: sim.plot("xy", "speed"))
       and refused(espalier.ArgumentError, "follow", lambda: espalier.plots.maps(snaps, follow=[0])),
       "pictures that cannot be")
    wrong = [("pixels", n) for n in (1, 3, 4, 15, 4097, 32.5, "32",
                                     True)] + [("decades", d) for d in (0, -1, 301, 330, float("nan"), None)]
    wrong += [("width", w) for w in (0, -1.0, float("inf"), float("nan"), "2", pos[:2, 0])]
    for name, value in wrong:
        sentence = f"{name}: expected a {'whole ' if name == 'pixels' else ''}number"
        if not all(refused(espalier.ArgumentError, sentence, lambda draw=draw: draw(**{name: value}))
                   for draw in (sphere.plot, sphere.plot_phase, lambda **given: espalier.plots.maps(snaps, **given))):
            print("#", name, value)
            break
    else:
        name = None
    ok(name is None and sphere.plot(pixels=16, decades=300, width=np.float32(1)).images,
       "pixels, decades and width have the limits of espalier-plot map")
    one = espalier.Snapshot(pos[:1], vel[:1], mass[:1], model.ids[:1], model.types[:1])
    none = espalier.Snapshot(pos[:0], vel[:0], mass[:0], model.ids[:0], model.types[:0])
    ok(all(one.plot("xy", quantity).images for quantity in ("density", "velocity", "dispersion"))
       and one.plot_phase().images and len(none.radii()) == 0
       and refused(espalier.ArgumentError, "no particles with mass", none.plot),
       "pictures of one particle, and of none")
    matplotlib.pyplot.close("all")
    before = dict(matplotlib.rcParams)
    sim.plot()
    ok(dict(matplotlib.rcParams) == before, "the user's style stays")


def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096


small = espalier.ic.plummer(64)
for k in range(140):
    if k == 40:
        before = resident()
    with new(small, softening=0.05) as one:
        one.step()
print(f"# memory grew by {(resident() - before) / 1024:.0f} kB in 100 simulations")
ok(resident() - before < 100 * 8192, "simulations leave no memory behind")
print(f"1..{done}")
sys.exit(failures > 0)
