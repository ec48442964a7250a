#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Binaries and hierarchies of snapshots: elements against sums over all pairs in other formulas, triples, what happened
# between two times, the tables and the picture of a run.
. "${srcdir:-.}/tests/harness.sh"
with_plots

# --- a cluster with binaries, against an independent search ---
model plummer -n 1500 --binaries 0.5 --binary-min 1e-6 --binary-max 1e-3 -s 2 -o half.hdf5
try "$plot" binaries half.hdf5 -o half.png --table half.csv
cat > alone.py << 'END'
# every pair of a snapshot that is bound, each other's nearest and disturbed by less than 0.1, by double loops
import csv, math, sys
import h5py, numpy as np
with h5py.File(sys.argv[1]) as file:
    part = [file[name] for name in file if name.startswith("PartType")][0]
    x, v = part["Coordinates"][:], part["Velocities"][:].astype(float)
    ids = part["ParticleIDs"][:]
    m = part["Masses"][:].astype(float) if "Masses" in part else \
        np.full(len(x), file["Header"].attrs["MassTable"].max())
distance = np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=2))
np.fill_diagonal(distance, np.inf)
near = distance.argmin(axis=1)
found = {}
for i, j in enumerate(near):
    if near[j] != i or j < i:
        continue
    d, u, mu = x[j] - x[i], v[j] - v[i], m[i] + m[j]
    energy = 0.5 * u @ u - mu / math.sqrt(d @ d)
    if energy >= 0:
        continue
    a, h = -mu / (2 * energy), np.cross(d, u)
    e = math.sqrt(max(0, 1 - h @ h / (mu * a)))
    middle = (m[i] * x[i] + m[j] * x[j]) / mu
    r = np.sqrt(((x - middle) ** 2).sum(axis=1))
    r[[i, j]] = np.inf
    if (2 * m / mu * (a * (1 + e) / r) ** 3).max() < 0.1:
        found[tuple(sorted((int(ids[i]), int(ids[j]))))] = a, e
table = {(int(row["first"]), int(row["second"])): (float(row["a"]), float(row["e"]))
         for row in csv.DictReader(line for line in open(sys.argv[2]) if line[0] != "#") if row["stars"] == "2"}
made = {(2 * k + 1, 2 * k + 2) for k in range(500)}
print(f"{len(found)} pairs, {len(made & set(table))} of the {len(made)} that were made")
assert found.keys() == table.keys() and len(made & set(table)) > 490
worst = max(abs(table[pair][0] / found[pair][0] - 1) for pair in found), \
    max(abs(table[pair][1] - found[pair][1]) for pair in found)
print("axes differ by %.1e, eccentricities by %.1e" % worst)
assert worst[0] < 1e-9 and worst[1] < 1e-6   # 1 - e^2 from h loses digits where e is small
END
try "$python" alone.py half.hdf5 half.csv
ok $? "all pairs of a cluster, with their elements: $(tr '\n' ' ' < said)"

# --- triples as initial conditions ---
model plummer -n 3000 --mass-function kroupa --binaries 1 --triples 0.5 --binary-min 1e-7 --binary-max 1e-4 \
  --eccentricity 0.3 -s 4 -o triples.hdf5
try "$plot" binaries triples.hdf5 -o triples.png --table triples.csv
cat > threes.py << 'END'
# systems of the table that are those of the model: 600 binaries, then 600 triples
import csv, sys
rows = [{key: float(value) for key, value in row.items() if value}
        for row in csv.DictReader(line for line in open(sys.argv[1]) if line[0] != "#")]
found = {(int(row["first"]), int(row["second"]), int(row["stars"])): row for row in rows}
made = [1201 + 3 * k for k in range(600)]
pairs = sum((k, k + 1, 2) in found for k in made) + sum((k, k + 1, 2) in found for k in range(1, 1200, 2))
outer = [(found[k, k + 1, 2], found[k, k + 2, 3]) for k in made if (k, k + 1, 2) in found and (k, k + 2, 3) in found]
stable = sum(two["a"] * (1 - two["e"]) > 1.9 * one["a"] for one, two in outer)
print(f"{pairs} inner pairs and binaries of 1200, {len(outer)} triples of 600")
assert pairs > 1180 and len(outer) > 580 and stable == len(outer)
assert all(abs(row["e"] - 0.3) < 1e-3 for pair in outer for row in pair)
assert all(1e-7 < one["a"] < two["a"] < 1.00001e-4 for one, two in outer)
END
try "$python" threes.py triples.csv
ok $? "triples of espalier ic are hierarchies: $(tr '\n' ' ' < said)"

# --- triples, quadruples, and what happened ---
"$python" - "$src/python" > said 2> err << 'END'
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from espalier_plots.multiples import events, systems

def orbit(a, e, m1, m2):
    """Two bodies at the pericentre, about their centre of mass."""
    d, u, m = a * (1 - e), np.sqrt((m1 + m2) * (1 + e) / (a * (1 - e))), m1 + m2
    return [[-m2 / m * d, 0, 0], [m1 / m * d, 0, 0]], [[0, -m2 / m * u, 0], [0, m1 / m * u, 0]]

def quadruple(shift):
    inner = [orbit(1e-3, 0.3, 1, 0.5), orbit(2e-3, 0.1, 0.7, 0.2)]
    x, v = orbit(1, 0.2, 1.5, 0.9)
    pos = [np.add(x[k], inner[k][0][s]) + shift for k in range(2) for s in range(2)]
    vel = [np.add(v[k], inner[k][1][s]) for k in range(2) for s in range(2)]
    return pos, vel, [1, 0.5, 0.7, 0.2]

pos, vel, mass = quadruple(np.array([3., 0, 0]))
pos, vel = np.array(pos + [[50, 0, 0]]), np.array(vel + [[0, 0.1, 0]])
mass, ids = np.array(mass + [0.01]), np.array([7, 3, 9, 4, 1])
rows = systems(pos, vel, mass, ids, 1.0)
print(rows[["first", "second", "stars", "a", "e"]])
assert [tuple(row) for row in rows[["first", "second", "stars"]]][:3] == [(3, 7, 2), (4, 9, 2), (3, 4, 4)]
assert np.allclose(rows["a"][:3], [1e-3, 2e-3, 1], rtol=1e-9) and np.allclose(rows["e"][:3], [0.3, 0.1, 0.2], atol=1e-9)
assert list(rows["inner"][2]) == [0, 1] and np.allclose(rows["mass"][2], [1.5, 0.9])
for few in (0, 1):
    assert len(systems(pos[:few], vel[:few], mass[:few], ids[:few], 1.0)) == 0
# a third star near makes it none
near = np.vstack([pos[:2], pos[0] + [0, 3e-3, 0]]), np.vstack([vel[:2], vel[0]]), np.array([1, 0.5, 1])
assert len(systems(*near, ids[:3], 1.0)) == 0 and len(systems(*near, ids[:3], 1.0, limit=10)) > 0

def pairs_of(*pairs):
    one = orbit(1e-3, 0.3, 1, 1)
    return systems(np.concatenate([np.add(one[0], [k, k % 3, 0]) for k in range(len(pairs))]),
                   np.concatenate([one[1] for _ in pairs]), np.full(2 * len(pairs), 1e-0),
                   np.array([star for pair in pairs for star in pair]), 1.0)

said = events(pairs_of((1, 2), (3, 4), (5, 6)), pairs_of((1, 2), (7, 4), (8, 9)))
print(said)
assert said == [("exchanged", (4, 7), (3, 4)), ("formed", (8, 9), None), ("dissolved", (5, 6), None)]
END
ok $? "a quadruple, a pair that is disturbed, and what happened to pairs"

# --- a run ---
model plummer -n 200 --binaries 1 --binary-min 1e-4 --binary-max 1e-2 -s 1 -o all.hdf5
parameters run.ini Input:InitCondFile=all.hdf5 Output:OutputDir=out Output:TimeBetSnapshot=0.125 Time:TimeMax=0.5 \
  Gravity:Softening=0 Device:Backend=cpu
launch 1 run run.ini > log 2>&1
draws "the binaries of a run" binaries out
try "$plot" binaries out -o run.png --table run.csv --events events.csv &&
  has said 'pairs and .* outer orbits at the start' &&
  [ "$(grep -c '^0\.0,' run.csv)" -gt 80 ] && grep -q '^after,until,event,first,second' events.csv
ok $? "with tables: $(tail -n 1 said)"
draws "one snapshot" binaries out/snapshot_000.hdf5
launch 1 run run.ini -P Output:OutputDir=fine -P Binaries:Interval=0.03125 > log 2>&1
draws "a run with binaries.csv and events.csv" binaries fine && has said 'from tables of the run'
ok $? "more times of the run's own tables are drawn"
printf 'time,stars\n0,2\n1,x\n' > fine/binaries.csv && printf 'event\nformed\n' > fine/events.csv
check "tables that are none" says 1 'fine/binaries.csv and .*events.csv are not tables of a run' -- \
  "$plot" binaries fine -o none.png
check "a limit that is none" says 2 'argument --limit: .*-1' -- "$plot" binaries out --limit=-1
check "a table that cannot be written" says 1 'none/x.csv' -- "$plot" binaries out --table none/x.csv

# --- a movie that follows stars ---
# 200 stars at nine times; 12 and 57 are a pair, 103 goes about it. At the end 57 is gone, then none of them is there.
"$python" - "$src/tools" "$dir" > said 2> err << 'END'
import os
import sys
sys.path.insert(0, sys.argv[1])
os.chdir(sys.argv[2])
from plotting import h5py, np
import movie_group
import plot_movie as movie

def centre(k):
    return np.array([0.3 + 0.1 * k, 0.2, -0.1 * k])

def orbit(k, radius, turns):
    return radius * np.array([np.cos(2 * np.pi * turns * k), np.sin(2 * np.pi * turns * k), 0])

os.mkdir("group")
field, order = np.random.default_rng(1).normal(size=(200, 3)), np.random.default_rng(2)
for k in range(9):
    pos, mass, ids = field.copy(), np.ones(200), np.arange(1, 201)
    mass[[11, 56, 102]] = 1, 3, 2
    pos[11], pos[56] = centre(k) + 3 * orbit(k, 0.01, 0.125), centre(k) - orbit(k, 0.01, 0.125)
    pos[102] = centre(k) + orbit(k, 0.09, 0.02)
    rows = order.permutation(np.setdiff1d(np.arange(200), [[], [56], [11, 56, 102]][(k > 6) + (k > 7)]))
    with h5py.File(f"group/snapshot_{k:03d}.hdf5", "w") as file:
        file.create_group("Header").attrs.update({"Time": 0.25 * k, "MassTable": np.zeros(6)})
        file.create_group("Units").attrs.update({"UnitLength_in_cm": 3.0857e18, "UnitMass_in_g": 1.98841e33,
                                                 "UnitVelocity_in_cm_per_s": 97779.2})
        part = file.create_group("PartType1")
        for name, data in (("Coordinates", pos), ("Masses", mass), ("ParticleIDs", ids.astype(np.uint64))):
            part[name] = data[rows]
paths = [f"group/snapshot_{k:03d}.hdf5" for k in range(8)]
moments = movie_group.moments_of(("ids", (103, 12, 57)), paths)
for k, moment in enumerate(moments):
    here = [centre(k) + orbit(k, 0.09, 0.02), centre(k) + 3 * orbit(k, 0.01, 0.125), centre(k) - orbit(k, 0.01, 0.125)]
    stars = [0, 1, 2] if k < 7 else [0, 1]
    mean = np.average(np.array(here)[stars], axis=0, weights=np.array([2, 1, 3])[stars])
    assert np.allclose(moment.centre, mean, atol=1e-12) and moment.count() == len(stars)
    assert np.allclose(moment.places[stars], np.array(here)[stars] - mean, atol=1e-12)
    others = moment.others(1.0, "xz", "All")
    assert len(others) == (np.abs(np.delete(field, [11, 56, 102], axis=0) - mean)[:, [0, 2]] <= 1).all(axis=1).sum()
largest = max(np.nanmax(np.abs(moment.places[:, :2])) for moment in moments)
assert largest <= movie_group.half_of(moments, "xy", None) < 1.2 * largest
cases = [("no particle 999: expected ids of its particles, 1 to 200", "ids:12,999", []),
         ("expected 1 to 24 different whole numbers with commas between them, found 'x'", "ids:12,x", []),
         ("expected 1 to 24 different whole numbers with commas between them, found '-3'", "ids:-3", []),
         ("expected 1 to 24 different whole numbers with commas between them, found ''", "ids:", []),
         ("whole numbers with commas between them, found 12 twice", "ids:12,57,12", []),
         ("whole numbers with commas between them, found 25", "ids:" + ",".join(map(str, range(25))), []),
         ("snapshot_008.hdf5 has none of the particles that are followed any more (ids 12, 57)", "ids:12,57", []),
         ("in one place; give --width", "ids:1", [])]
for text, which, more in cases:
    sys.argv = ["plot_movie.py", "group", "-o", "bad.png", "--follow=" + which, *more]
    try:
        movie.main()
        said = "nothing"
    except SystemExit as end:
        said = str(end.code)
    assert text in said and "\n" not in said and not os.path.exists("bad.png"), (which, said)
print(len(cases), "cases")
END
[ $? = 0 ] && has said '^8 cases$'
ok $? "stars about their centre of mass, and a sentence for ids that are none"
draws "stars that are followed" movie group/snapshot_00[0-7].hdf5 --follow ids:12,57,103 --width 0.3 --trail 4
has said '^text 2 particles, time 1.75 Myr$' && has said '^text x \[pc\]$' && has said '57, gone'
ok $? "... with the time, units, and who is gone"
if "$python" -c 'import PIL' 2> /dev/null; then
  try "$plot" movie group/snapshot_00[56].hdf5 --follow ids:103,57 -o group.gif && "$python" - group.gif << 'END'
import sys
import numpy as np
from PIL import Image
with Image.open(sys.argv[1]) as film:
    assert film.n_frames == 2
    film.seek(1)
    pixels = np.asarray(film.convert("RGB")).reshape(-1, 3).astype(int)
for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):   # of the two stars
    assert (np.abs(pixels - colour).max(axis=1) < 12).sum() > 30, colour
END
  ok $? "... as a movie in the colours of the picture"
fi
finish
