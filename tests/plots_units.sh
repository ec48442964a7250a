#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier-plot --units: snapshots, tables and maps in other units, against their own numbers; names of units on axes;
# sets of files in GADGET's binary formats; a sentence for files without units.
. "${srcdir:-.}/tests/harness.sh"
with_plots
model king -n 500 --half-mass-radius 2 --mass-function kroupa -s 3
parameters run.ini Input:InitCondFile=../ic.hdf5 Units:GravityConstantInternal= Output:OutputDir=out \
  Output:TimeBetSnapshot=0.5 Output:TimeBetStatistics=0.25 Output:Projections=on \
  Output:TimeBetProjections=0.5 Output:ProjectionPixels=64 Time:TimeMax=1 Gravity:Softening=0.05
go run 1
[ $status = 0 ]
ok $? "a run in pc and Myr"
draws "energies" energy run/out
has said '^text change / \$|E_0|\$$' && has said '^text time \[Myr\]$'
ok $? "... as parts of the total one at the start"
draws "a profile of velocities" analysis run/out
has said '^text dispersion \[km/s\]$'
ok $? "velocities are in km/s, not in pc/Myr, the units of the file"
draws "... of which they are if asked" analysis run/out --units pc-myr
has said '^text dispersion \[pc/Myr\]$'
ok $? "... with this name"
draws "... in others" analysis run/out --units kpc-km/s-1e10Msun
has said '^text dispersion \[km/s\]$' && has said '^text radius \[kpc\]$'
ok $? "... with their names"
draws "binaries" binaries run/out
has said '^text semi-major axis \[pc\]$' &&
  has said '^text change of the binding energy \[M\$_\\odot\$ km\$^2\$ s\$^{-2}\$\]$'
ok $? "... have units on their axes"
for kind in profile map cluster binaries energy steps; do
  plots $kind run/out --units kpc-Gyr-1e10Msun
  ok $? "$kind --units"
done
plots movie run/out --units AU-yr-kg -o plot.png
ok $? "movie --units"

cat > judge.py << 'END'
import sys
sys.path.insert(0, sys.argv[1])
from plotting import Table, h5py, np
import plot_movie as movie
import unit_systems
from snapshots import Snapshot
path, maps = "run/out/snapshot_002.hdf5", movie.map_paths("run/out")
def read():
    return (Snapshot(path, velocities=True), Table("run/out/energy.csv"), Table("run/out/analysis.csv"),
            movie.Map(maps[-1], "All", "xy"))
unit_systems.system("pc-Myr-Msun")
own = read()
with h5py.File(path) as file:   # the units of the file
    assert np.allclose(own[0].vel[1], file["PartType1/Velocities"][()], rtol=1e-6)
    assert np.allclose(own[0].all()[0], file["PartType1/Coordinates"][()], rtol=1e-6)
PC, MYR, SUN, G = 3.0856775814913673e18, 3.15576e13, 1.98841e33, 6.6743e-8
for text, length, mass, speed in (("pc-Myr-Msun", 1, 1, 1), ("", 1, 1, PC / MYR / 1e5),
                                  ("galaxy", 1e-3, 1e-10, PC / MYR / 1e5),
                                  ("Msun-kpc-Gyr", 1e-3, 1, 1), ("1e-3pc-2Msun-m/s", 1e3, 0.5, PC / MYR / 100)):
    if text:
        unit_systems.system(text)
    else:   # without the option
        unit_systems.wanted = None
    snap, energy, analysis, image = read()
    def same(found, first, factor):
        assert np.allclose(found, np.asarray(first) * factor, rtol=1e-4), (text, found, first, factor)
    same(snap.all()[0], own[0].all()[0], length)
    same(snap.all()[1], own[0].all()[1], mass)
    same(snap.vel[1], own[0].vel[1], speed)
    same([snap.time, energy["time"][-1], image.time], [own[0].time, own[1]["time"][-1], own[3].time],
         length / speed)
    same([snap.softening, snap.softenings[1], image.half],
         [own[0].softening, own[0].softenings[1], own[3].half], length)
    cgs = length_cgs, mass_cgs, speed_cgs = PC / length, SUN / mass, PC / MYR / speed
    same(snap.gravity, G * mass_cgs / length_cgs / speed_cgs**2, 1)
    same(snap.unit_sizes, cgs, 1)
    for name in "kinetic", "potential", "total", "energy_noise":
        same(energy[name], own[1][name], mass * speed**2)
    same(energy["angular_x"], own[1]["angular_x"], mass * length * speed)
    for name, factor in (("r_50", length), ("dispersion", speed), ("mass", mass), ("count", 1), ("virial_ratio", 1)):
        good = np.isfinite(own[2][name])
        same(analysis[name][good], own[2][name][good], factor)
    same(image.density, own[3].density, mass / length**2)
    moved = 0.5 * (snap.all()[1] * (np.concatenate(list(snap.vel.values())) ** 2).sum(axis=1)).sum()
    same(moved * snap.units.energy_size, energy["kinetic"][-1] * energy.units.energy_size, 1)
END
check "numbers in four systems of units" script judge.py "$src/tools"

# times of movies: few digits
cat > times.py << 'END'
import sys, types
sys.path.insert(0, sys.argv[1])
import plot_movie as movie
from espalier_plots.style import Units
units = Units(dict(UnitLength_in_cm=3.0857e21, UnitMass_in_g=1.98841e43, UnitVelocity_in_cm_per_s=1e5))
for step, last in ((0.002, "time 7.8 Myr"), (0.2, "time 782 Myr"), (2, "time 7.8 Gyr"), (2e-7, "time 782 yr"),
                   (0, "time 0.000 Myr")):
    maps = [types.SimpleNamespace(time=k * step, units=units) for k in range(5)]
    found = movie.times_of(maps)(maps[-1])
    assert found == last, found
END
check "times of movies have few digits" script times.py "$src/tools"

# --- sets of GADGET's binary formats ---
cat > split.py << 'END'
import sys
import h5py
import numpy as np
with h5py.File("ic.hdf5", "r") as file:
    pos, vel, ids, mass = (file["PartType1"][name][()]
                           for name in ("Coordinates", "Velocities", "ParticleIDs", "Masses"))
def write(path, rows, files, labels, order):
    count, total = [0, len(rows), 0, 0, 0, 0], [0, len(ids), 0, 0, 0, 0]
    head = (np.array(count, order + "i4").tobytes() + np.zeros(8, order + "f8").tobytes() + bytes(8)
            + np.array(total + [0, files], order + "i4").tobytes()).ljust(256, b"\0")
    with open(path, "wb") as out:
        for label, block in (("HEAD", head), ("POS ", pos[rows].astype(order + "f4").tobytes()),
                             ("VEL ", vel[rows].astype(order + "f4").tobytes()),
                             ("ID  ", ids[rows].astype(order + "u4").tobytes()),
                             ("MASS", mass[rows].astype(order + "f4").tobytes())):
            name = [label.encode() + np.array([len(block) + 8], order + "i4").tobytes()]
            for part in (name if labels else []) + [block]:
                size = np.array([len(part)], order + "i4").tobytes()
                out.write(size + part + size)
everything = np.arange(len(ids))
for name, labels, order in (("one", False, "<"), ("two", True, ">")):
    write(f"{name}_000", everything, 1, labels, order)
    for k, rows in enumerate(np.array_split(everything, 3)):
        write(f"{name}set/snap_000.{k}", rows, 3, labels, order)
    write(f"{name}set/snap_001.0", everything[:0], 2, labels, order)
    write(f"{name}set/snap_001.1", everything, 2, labels, order)
sys.path.insert(0, sys.argv[1])
from snapshots import Snapshot, snapshot_paths
for name in "one", "two":
    whole = Snapshot(f"{name}_000", velocities=True, ids=True)
    for given in f"{name}set", f"{name}set/snap_000.2", f"{name}set/snap_000":
        paths = snapshot_paths([given])
        assert len(paths) == (2 if given == f"{name}set" else 1), paths
        for path in paths:
            found = Snapshot(path, velocities=True, ids=True)
            for what in "pos", "vel", "mass", "ids":
                assert (getattr(found, what)[1] == getattr(whole, what)[1]).all()
END
mkdir oneset twoset
check "sets of formats 1 and 2: all files, by folder, by a file, by their name" script split.py "$src/tools"
draws "a map of a set" map oneset/snap_000.0
rm twoset/snap_000.1
refuses_plot 'has 3 parts, and not all are good: twoset/snap_000.1 is not there' map twoset/snap_000.0
refuses_plot 'states no units, or a gravitational constant that is not theirs, so --units galaxy' map \
  oneset/snap_000.0 --units galaxy
refuses_plot "expected galaxy, cluster or pc-myr, or a length, a time or velocity, and a mass" map run/out \
  --units pc-Msun
model plummer -n 100 -o plain.hdf5
refuses_plot 'states no units' map plain.hdf5 --units pc-Myr-Msun
finish
