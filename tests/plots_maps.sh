#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier-plot map, movie and profile with velocities, phase space and frames that follow: numbers of known models,
# pictures in which nothing lies over anything else, vector files, and a sentence for bad input. The particles are made
# by tests/plots_maps.py.
. "${srcdir:-.}/tests/harness.sh"
with_plots
try "$python" "$src/tests/plots_maps.py" "$src" "$dir"
number=$(grep -c '^\(not \)\{0,1\}ok' said)
cat said
[ "$status" = 0 ] && [ "$number" -ge 8 ] || { sed 's/^/# /' err; failed=1; }

draws "density, velocity and dispersion" map run --velocity --pixels 64
has said '^text mean \$v_z\$ \[km/s\]' && has said '^text dispersion of \$v_z\$ \[km/s\]' &&
  has said '^text \$N\$ = 3,000$' &&
  has said '^axes 12$'
ok $? "three rows of three times, three scales, units and the number of particles"
draws "few particles of a type" map run/snapshot_000.hdf5 --types 2
has said '^text type 2 (disk)$' && has said '^axes 2$'
ok $? "... as points, without a scale, with the name of the type"
mkdir nine
for copy in 0 1 2; do
  for k in 0 1 2; do
    cp "run/snapshot_00$k.hdf5" "nine/snapshot_0$copy$k.hdf5"
  done
done
draws "more than seven snapshots in two bands" map nine --velocity --follow type:2 --pixels 32
has said '^text dispersion of \$v_z\$ \[km/s\]' && has said '^axes 30$'
ok $? "... with one colour bar of each quantity, side by side"
draws "phase space" map run --phase r,x --pixels 64 --follow type:2
has said '^text \$v_r\$ \[km/s\]' && has said '^text radius \[kpc\]' && has said '^axes 7$'
ok $? "... and its labels"
draws "velocities from the side, by type" map run/snapshot_002.hdf5 --velocity --planes xz --by-type --pixels 64
check "... with the numbers of each type" has said '^text time 1.956 Gyr, 1 (halo), \$N\$ = 2,000$'
draws "profiles about two cores" profile run --follow type:1 --follow type:2
has said '^text type 2, \$N\$ = 1,000$' && has said '^text Lagrangian radii about each core$'
ok $? "... named"
draws "a group of a catalogue" map run --follow group:1 --pixels 64
draws "a movie's last frame" movie run --follow type:2 --axis xz
check "... with the number of particles" has said '^text all particles, \$N\$ = 3,000, time '
for ending in pdf svg; do
  plots map run --velocity --pixels 32 -o "vector.$ending" && [ -s "vector.$ending" ]
  ok $? "$ending by the file's ending"
done
head -c 5 vector.pdf | grep -q '%PDF-' && has vector.svg '<svg' && has vector.svg 'surface density'
ok $? "... whose text stays text"
if "$python" -c 'import PIL' 2> /dev/null; then
  plots movie run --follow type:2 --width 8 -o movie.gif && has said '^.*movie.gif: 3 maps$' &&
    head -c 3 movie.gif | grep -q GIF
  ok $? "a movie of snapshots, in a frame that follows"
  plots movie nine --width 8 -o nine.gif &&
    "$plot" movie run --fps 50 --width 8 -o given.gif >> said 2>> err &&
    "$python" -c 'import sys
from PIL import Image
for path in sys.argv[1:]:
    with Image.open(path) as film:
        print(path, sum(film.seek(k) or film.info["duration"] for k in range(film.n_frames)))' movie.gif nine.gif \
          given.gif >> said 2>> err
  has said 'movie.gif 3000$' && has said 'nine.gif 39[0-9]0$' && has said 'given.gif 60$'
  ok $? "few maps last four seconds, or a second each, unless --fps is given"
fi

refuses_plot 'expected all, type:T, group:K, ids:ID,ID... or x,y,z, found' map run --follow disc
refuses_plot 'expected all, type:T, group:K, ids:ID,ID... or x,y,z, found' map run --follow type:7
refuses_plot 'has no particles with mass of the set that is followed (type 4)' map run --follow type:4
refuses_plot 'has 2 groups, so there is no group 7: they count from 0' map run --follow group:7
refuses_plot 'fof_001.hdf5 is not there: runs with Groups = on' map run/snapshot_001.hdf5 --follow group:0
refuses_plot 'has no velocities for all particles' map still_000.hdf5 --velocity
refuses_plot 'has no ParticleIDs of type 1' map still_000.hdf5 --follow 0,0,0
refuses_plot 'expected some of r, x, y, z' map run --phase q
refuses_plot 'leave --velocity and --planes out' map run --phase r --velocity
refuses_plot '--draw points is for densities' map run --draw points --velocity
refuses_plot '--velocity draws one plane' map run --velocity --planes xy,xz
refuses_plot 'the same set is given twice' profile run --follow type:1 --follow type:1
refuses_plot 'leave --types, --by-type and --centre out' profile run --follow type:1 --by-type
refuses_plot '--width 3: the maps of this run are 2 wide (ProjectionSize)' movie maps --width 3
refuses_plot '--width 0.1: the maps of this run have pixels of 0.0312, so the least width is 0.5' movie maps --width 0.1
draws "the maps of a run, cropped" movie maps --width 1
check "... to the middle, with the mass that is there" try "$python" "$src/tests/plots_maps.py" "$src" "$dir" cropped
finish
