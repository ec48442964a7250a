#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The plots of analysis.csv and the movies of maps, of a real run: pictures in which nothing lies over anything else,
# frames with one scale, and a sentence for bad input.
. "${srcdir:-.}/tests/harness.sh"
with_plots
parameters run.ini Input:InitCondFile=merger.hdf5 Output:OutputDir=run Output:TimeBetStatistics=1e-9 \
  Output:Projections=on Output:TimeBetSnapshot=0.0625 \
  Output:TimeBetProjections=0.0625 Output:ProjectionPixels=64 Time:TimeMax=0.25 Gravity:Softening=0.03 \
  Split:SoftStep=0.03125 \
  $hybrid
model merger -n 1000 -o merger.hdf5
check "a run of a merger" try espalier run run.ini
model plummer -n 500 -o plummer.hdf5
check "a run of one type" try espalier run -P Input:InitCondFile=plummer.hdf5 -P Output:OutputDir=one \
  -P Output:ProjectionAxes=xz -P Output:ProjectionCentre=origin run.ini

draws "analysis of two types" analysis run
has said '^text type 1 (halo), \$N\$ = 500$' && has said '^text Lagrangian radii, all' && has said '^axes 6$'
ok $? "all panels, with the types' names"
draws "Lagrangian radii of a type" analysis run/analysis.csv --type 2
draws "analysis of one type" analysis one
has said '^axes 5$' && lacks said '^text bar strength' && has said '^text \$N\$ = 500$' && has said '^text per axis$'
ok $? "... without a disc, so without a bar"
cp -r one systems && printf '%s\n' "$(sed -n 2p one/analysis.csv)" time,binary_fraction,dispersion 0,0.5,0.4 \
  0.25,0.5,0.5 > systems/cluster.csv
draws "analysis of a cluster with binaries" analysis systems
has said '^text velocity dispersion of systems, per axis' && lacks said '^text radial$'
ok $? "... has the dispersion of systems"
in_units='UnitLength_in_cm = 3.085678e21, UnitMass_in_g = 1.989e43, UnitVelocity_in_cm_per_s = 1e5'
sed "s/^# units: .*/# $in_units, GravityConstantInternal = 43009.2/" run/analysis.csv > units.csv
draws "analysis with units" analysis units.csv
has said '^text radius \[kpc\]' && has said '^text dispersion \[km/s\]'
ok $? "units at the axes"
draws "the last map" movie run
check "its time" has said '^text all particles, time 0.250$'
draws "a map of a type" movie run/projections --type 2 --axis xz
draws "maps about the origin" movie one --axis xz

if "$python" -c 'import PIL' 2> /dev/null; then
  plots movie run --fps 10 -o movie.gif && "$python" - movie.gif >> said 2>> err << 'END'
import sys
import numpy as np
from PIL import Image
movie = Image.open(sys.argv[1])
frames = []
for number in range(movie.n_frames):
    movie.seek(number)
    frames.append(np.asarray(movie.convert("RGB")).astype(int))
    assert movie.info["duration"] == 100, movie.info
height, width = frames[0].shape[:2]
print(len(frames), width, height)
assert len(frames) == 5 and width % 2 == 0 and height % 2 == 0   # video codecs want even sizes
change = np.abs(np.diff(np.array(frames), axis=0)).max(axis=(0, 3))
assert change[height // 8:-height // 8, width // 8:width // 2].any()   # the map
assert not change[:, -width // 8:].any()                               # colour bar and its numbers stay
assert not change[-height // 14:].any()                                # and those of the axis
END
  ok $? "a GIF: a frame for each map, on one scale"
else
  echo "# no Pillow: no GIF"
fi
if command -v ffmpeg > /dev/null; then
  plots movie run -o movie.mp4 && [ "$(wc -c < movie.mp4)" -gt 5000 ]
  ok $? "an MP4"
else
  plots movie run -o movie.mp4
  [ $? = 1 ] && [ ! -e movie.mp4 ] && [ "$(wc -l < err)" = 1 ] && has err 'MP4 needs the program ffmpeg'
  ok $? "without ffmpeg a sentence"
fi

# maps as numbers, and a sentence for each kind of bad input, before a picture is written
mkdir empty cut wide && cp run/projections/projection_000[01].hdf5 cut &&
  head -c 2000 run/projections/projection_0002.hdf5 > cut/projection_0002.hdf5 &&
  cp run/projections/projection_0000.hdf5 wide && cp one/projections/projection_0003.hdf5 wide
"$python" - "$src/tools" "$dir" > said 2> err << 'END'
import os
import sys
sys.path.insert(0, sys.argv[1])
import plot_analysis as analysis
import plot_movie as movie
import processes
from plotting import h5py, np
assert list(processes.together(lambda k: k * k, 100, "squares")) == [k * k for k in range(100)]
folder = sys.argv[2]
maps = [movie.Map(path, "All", "xy") for path in movie.map_paths(folder + "/run")]
parts = [movie.Map(path, group, "xy")
         for path in movie.map_paths(folder + "/run") for group in ("PartType1", "PartType2")]
def particles_of(number):
    """Centre of a map; positions and masses of the snapshot of that time, and which are stars."""
    with h5py.File(f"{folder}/run/projections/projection_{number:04d}.hdf5") as file:
        centre = file["Header"].attrs["Centre"]
    with h5py.File(f"{folder}/run/snapshot_{number:03d}.hdf5") as file:
        kinds = [1, 2]
        pos, mass = ([file[f"PartType{kind}"][name][()] for kind in kinds] for name in ("Coordinates", "Masses"))
    return centre, np.concatenate(pos), np.concatenate(mass), np.repeat(kinds, [len(one) for one in mass]) == 2
assert len(maps) == 5 and [m.time for m in maps] == [0, 0.0625, 0.125, 0.1875, 0.25], [m.time for m in maps]
for number, m in enumerate(maps):
    pixel = (2 * m.half / len(m.density)) ** 2
    # a map has the mass of the square about its centre; that of the first is the sphere of 90 % of the mass, or the
    # smaller one of that of the types but dark matter
    centre, pos, mass, stars = particles_of(number)
    square = mass[(abs(pos - centre)[:, :2] < m.half).all(axis=1)].sum()
    assert abs(m.density.sum() * pixel - square) < 1.5 * mass.max(), (m.density.sum() * pixel, square)
    if number == 0:
        radius = np.linalg.norm(pos - centre, axis=1)
        within = [mass[rows & (radius <= 1.0001 * m.half)].sum() / mass[rows].sum()
                  for rows in (stars, np.full(len(mass), True))]
        assert abs(within[0] - 0.9) < 3e-3 and within[1] < 0.9, within
    assert np.allclose(m.density, parts[2 * number].density + parts[2 * number + 1].density, rtol=1e-5, atol=0)
    smooth = movie.smooth(m.density, m.half)
    assert abs(smooth.sum() / m.density.sum() - 1) < 0.05, smooth.sum() / m.density.sum()
bad = folder + "/bad.png"
cases = [
    (movie, "has no maps (Projections = on) and no snapshots", ["empty"]),
    (movie, "is not there", ["absent"]), (movie, "projection_0002.hdf5 is cut off", ["cut"]),
    (movie, "has no maps of PartType5 (it has All, PartType1, PartType2)", ["run", "--type", "5"]),
    (movie, "has no maps in the plane yz (it has xy, xz)", ["run", "--axis", "yz"]),
    (movie, "have maps of different widths", ["wide", "--axis", "xz"]),
    (movie, "expected a name that ends in .mp4", ["run", "-o", folder + "/bad.avi"]),
    (analysis, "analysis.csv cannot be read", ["empty"]), (analysis, "has no rows of type 4", ["run", "--type", "4"]),
    (analysis, "has no column 'type'", ["run/energy.csv"])]
for script, text, words in cases:
    sys.argv = [script.__name__ + ".py", os.path.join(folder, words[0])] + words[1:]
    sys.argv += [] if "-o" in words else ["-o", bad]
    try:
        script.main()
        said = "nothing"
    except SystemExit as end:
        said = str(end.code)
    assert text in said and "\n" not in said and not os.path.exists(bad), (words, said)
print(len(cases), "cases")
END
status=$?
[ $status = 0 ] && has said '^10 cases$'
ok $? "maps of types add up, hold the mass, and smoothing keeps it; sentences for bad input"
finish
