#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier-plot map, movie and profile with velocities, phase space and frames that follow: numbers of known models, pictures in which nothing
# lies over anything else, vector files, and a sentence for bad input. The particles are made by tests/plots_maps.py.
. "${srcdir:-.}/tests/tap.sh"
with_plots
shown="$dir/out $dir/err"
"$python" "$src/tests/plots_maps.py" "$src" "$dir" > "$dir/out" 2> "$dir/err"
status=$?
number=$(grep -c '^\(not \)\{0,1\}ok' "$dir/out")
cat "$dir/out"
if [ "$status" != 0 ]; then
  sed 's/^/# /' "$dir/err"
  failed=1
fi
[ "$number" -ge 8 ] || failed=1

# draws TITLE KIND ARGUMENT...: a picture, and what is drawn where (plots_layout.py)
draws() {
  title=$1
  shift
  rm -f "$dir/plot.png"
  "$python" "$src/tests/plots_layout.py" "$src/tools" "$@" -o "$dir/plot.png" > "$dir/out" 2> "$dir/err"
  status=$?
  [ $status = 0 ] && [ ! -s "$dir/err" ] && head -c 4 "$dir/plot.png" | grep -q PNG
  ok $? "$title: status $status"
}
draws "density, velocity and dispersion" map "$dir/run" --velocity --pixels 64
grep -q '^text mean \$v_z\$ \[km/s\]' "$dir/out" && grep -q '^text dispersion of \$v_z\$ \[km/s\]' "$dir/out" && grep -q '^text \$N\$ = 3,000$' "$dir/out" &&
  grep -q '^axes 12$' "$dir/out"
ok $? "three rows of three times, three scales, units and the number of particles"
mkdir "$dir/nine"
for copy in 0 1 2; do
  for k in 0 1 2; do
    cp "$dir/run/snapshot_00$k.hdf5" "$dir/nine/snapshot_0$copy$k.hdf5"
  done
done
draws "more than seven snapshots in two bands" map "$dir/nine" --velocity --follow type:2 --pixels 32
grep -q '^text dispersion of \$v_z\$ \[km/s\]' "$dir/out" && grep -q '^axes 30$' "$dir/out"
ok $? "... with one colour bar of each quantity, side by side"
draws "phase space" map "$dir/run" --phase r,x --pixels 64 --follow type:2
grep -q '^text \$v_r\$ \[km/s\]' "$dir/out" && grep -q '^text radius \[kpc\]' "$dir/out" && grep -q '^axes 7$' "$dir/out"
ok $? "... and its labels"
draws "velocities from the side, by type" map "$dir/run/snapshot_002.hdf5" --velocity --planes xz --by-type --pixels 64
grep -q '^text time 1.956 Gyr, 1 (halo), \$N\$ = 2,000$' "$dir/out"
ok $? "... with the numbers of each type"
draws "profiles about two cores" profile "$dir/run" --follow type:1 --follow type:2
grep -q '^text type 2, \$N\$ = 1,000$' "$dir/out" && grep -q '^text Lagrangian radii about each core$' "$dir/out"
ok $? "... named"
draws "a group of a catalogue" map "$dir/run" --follow group:1 --pixels 64
draws "a movie's last frame" movie "$dir/run" --follow type:2 --axis xz
grep -q '^text all particles, \$N\$ = 3,000, time ' "$dir/out"
ok $? "... with the number of particles"
for ending in pdf svg; do
  "$plot" map "$dir/run" --velocity --pixels 32 -o "$dir/vector.$ending" > "$dir/out" 2> "$dir/err" && [ -s "$dir/vector.$ending" ]
  ok $? "$ending by the file's ending"
done
head -c 5 "$dir/vector.pdf" | grep -q '%PDF-' && grep -q '<svg' "$dir/vector.svg" && grep -q 'surface density' "$dir/vector.svg"
ok $? "... whose text stays text"
if "$python" -c 'import PIL' 2> /dev/null; then
  "$plot" movie "$dir/run" --follow type:2 --width 8 -o "$dir/movie.gif" > "$dir/out" 2> "$dir/err" && grep -q '^.*movie.gif: 3 maps$' "$dir/out" &&
    head -c 3 "$dir/movie.gif" | grep -q GIF
  ok $? "a movie of snapshots, in a frame that follows"
  "$plot" movie "$dir/nine" --width 8 -o "$dir/nine.gif" > "$dir/out" 2> "$dir/err" &&
    "$plot" movie "$dir/run" --fps 50 --width 8 -o "$dir/given.gif" >> "$dir/out" 2>> "$dir/err" &&
    "$python" -c 'import sys
from PIL import Image
for path in sys.argv[1:]:
    with Image.open(path) as film:
        print(path, sum(film.seek(k) or film.info["duration"] for k in range(film.n_frames)))' "$dir/movie.gif" "$dir/nine.gif" "$dir/given.gif" >> "$dir/out" 2>> "$dir/err"
  grep -q 'movie.gif 3000$' "$dir/out" && grep -q 'nine.gif 39[0-9]0$' "$dir/out" && grep -q 'given.gif 60$' "$dir/out"
  ok $? "few maps last four seconds, or a second each, unless --fps is given"
fi

# says FRAGMENT KIND ARGUMENT...: status 1 (2 for misuse), one sentence at the end, no picture
says() {
  fragment=$1
  kind=$2
  shift 2
  rm -f "$dir/plot.png"
  "$plot" "$kind" -o "$dir/plot.png" "$@" > "$dir/out" 2> "$dir/err"
  status=$?
  { [ $status = 1 ] || [ $status = 2 ]; } && tail -n 1 "$dir/err" | grep -q -F -e "$fragment" && ! grep -q Traceback "$dir/err" && [ ! -e "$dir/plot.png" ]
  ok $? "status $status: $fragment"
}
says 'expected all, type:T, group:K or x,y,z, found' map "$dir/run" --follow disc
says 'expected all, type:T, group:K or x,y,z, found' map "$dir/run" --follow type:7
says 'has no particles with mass of the set that is followed (type 4)' map "$dir/run" --follow type:4
says 'has 2 groups, so there is no group 7: they count from 0' map "$dir/run" --follow group:7
says 'fof_001.hdf5 is not there: runs with Groups = on' map "$dir/run/snapshot_001.hdf5" --follow group:0
says 'has no velocities for all particles' map "$dir/still_000.hdf5" --velocity
says 'has no ParticleIDs of type 1' map "$dir/still_000.hdf5" --follow 0,0,0
says 'expected some of r, x, y, z' map "$dir/run" --phase q
says 'leave --velocity and --planes out' map "$dir/run" --phase r --velocity
says '--velocity draws one plane' map "$dir/run" --velocity --planes xy,xz
says 'the same set is given twice' profile "$dir/run" --follow type:1 --follow type:1
says 'leave --types, --by-type and --centre out' profile "$dir/run" --follow type:1 --by-type
says '--width is for snapshots' movie "$dir/maps" --width 3
echo "1..$number"
exit $failed
