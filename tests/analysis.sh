#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What is looked at while a run proceeds: rows of analysis.csv and maps, in a run, after restarts, on several ranks, on a full disk; and
# sentences for bad parameters.
. "${srcdir:-.}/tests/restart_common.sh"
model 1000
shown="$dir/out $dir/err"
maps="-P Output:Projections=on -P Output:TimeBetProjections=0.03 -P Output:ProjectionPixels=32 -P Output:ProjectionAxes=xy,yz"
# rows NAME: of analysis.csv, with the header
rows() { grep -v '^#' "$dir/$1/out/analysis.csv"; }
# column NAME RUN TYPE: values of a column
column() { rows "$2" | awk -F, -v name="$1" -v type="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i; next } $2 == type { print $k }'; }
same_maps() { diff -r "$dir/$1/out/projections" "$dir/$2/out/projections" && [ "$(find "$dir/$1/out/projections" -name 'projection_????.hdf5' | wc -l)" = 5 ]; }

# shellcheck disable=SC2086
go one 1 $maps
shown="$dir/one/err"
ok $status "a run with maps"
[ "$(column time one 1 | tr '\n' ' ')" = "$(grep -v '^#' "$dir/one/out/energy.csv" | cut -d, -f1 | tail -n +2 | tr '\n' ' ')" ] &&
  [ "$(column time one -1 | wc -l)" = 9 ]
ok $? "rows of a type and of all at the times of energy.csv"
rows one | awk -F, 'NR == 1 { n = NF; next } { bad += NF != n; if ($2 == -1) bad += $(at = 20) == "" } END { exit bad > 0 || NR != 19 }'
ok $? "every row has all columns"
column virial_ratio one -1 | awk '$1 < 0.9 || $1 > 1.1 { bad = 1 } END { exit bad || NR != 9 }' && [ -z "$(column virial_ratio one 1 | tr -d '\n')" ]
ok $? "the virial ratio of all alone"
column r_50 one -1 | awk '$1 < 0.65 || $1 > 0.9 { bad = 1 } END { exit bad || NR != 9 }'
ok $? "the half-mass radius of a Plummer sphere"
[ "$(ls "$dir/one/out/projections" | tr '\n' ' ')" = "projection_0000.hdf5 projection_0001.hdf5 projection_0002.hdf5 projection_0003.hdf5 projection_0004.hdf5 " ]
ok $? "maps at the start, and at the first synchronisations after multiples of 0.03"

# maps and analysis change nothing else
go plain 1 -P Output:Analysis=off
shown="$dir/plain/err"
for run in one plain; do without h imbalance_seconds seconds < "$dir/$run/out/steps.csv" > "$dir/$run.steps"; done
[ $status = 0 ] && cmp "$dir/one/out/energy.csv" "$dir/plain/out/energy.csv" && cmp "$dir/one.steps" "$dir/plain.steps" &&
  [ ! -e "$dir/plain/out/projections" ] && [ ! -e "$dir/plain/out/analysis.csv" ]
ok $? "the same orbits without them"

# in parts: rows, numbers of maps and the width are those of an uninterrupted run; later maps are removed
# shellcheck disable=SC2086
go parts 1 $maps -n 3
# shellcheck disable=SC2086
go parts 1 $maps -n 6 -r
[ "$(find "$dir/parts/out/projections" -name '*.hdf5' | wc -l)" = 4 ]
ok $? "four maps after six soft steps"
# shellcheck disable=SC2086
go parts 1 $maps -n 5 -r 3
[ $status = 0 ] && [ "$(find "$dir/parts/out/projections" -name '*.hdf5' | wc -l)" = 3 ]
ok $? "going back to an earlier checkpoint removes later maps"
# shellcheck disable=SC2086
go parts 1 $maps -r
shown="$dir/parts/err"
[ $status = 0 ] && same one parts && same_maps one parts
ok $? "the same rows and maps after restarts"

# on several ranks orbits differ in rounding, and so do the rows; the first row does not
# shellcheck disable=SC2086
go three 3 $maps
shown="$dir/three/err"
[ $status = 0 ] && [ "$(rows one | sed -n 2p | cut -d, -f 3-19)" = "$(rows three | sed -n 2p | cut -d, -f 3-19)" ] &&
  cmp "$dir/one/out/projections/projection_0000.hdf5" "$dir/three/out/projections/projection_0000.hdf5"
ok $? "the first row and map on three ranks are those on one"
[ "$(column r_50 three 1 | awk '{ printf "%.4f ", $1 }')" = "$(column r_50 one 1 | awk '{ printf "%.4f ", $1 }')" ]
ok $? "... and later ones are near"

# cost, by counting: by rule at most 300 times, with few rows where soft steps are few
go rule 1 -P Output:TimeBetStatistics=0
shown="$dir/rule/err"
[ $status = 0 ] && [ "$(rows rule | wc -l)" = 5 ] && [ "$(grep -c '^[0-9]' "$dir/rule/out/energy.csv")" = 2 ]
ok $? "by rule rows cost a few percent: two times in eight soft steps"
# shellcheck disable=SC2086
$mpirun -n 1 "$here/espalier" ic plummer -n 6000 -o "$dir/more.hdf5" > "$dir/ic.log" 2>&1
go many 1 -P Output:TimeBetStatistics=0 -P Input:InitCondFile=../more.hdf5 -P Split:Mode=tree -P Split:SoftStep=0 -P Steps:Scheme=shared -P Steps:FixedStep=0.00390625 \
  -P Time:TimeMax=0.5 -P Output:TimeBetSnapshot=0
shown="$dir/many/err $dir/many/out/energy.csv"
[ $status = 0 ] && grep -v '^#' "$dir/many/out/energy.csv" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "energy_noise") k = i; next }
  { n++; all += $k < 1e-7; part += $k > 1e-7 && $k < 5e-6 } END { print "# rows:", n, "of all particles:", all; exit !(n >= 5 && n <= 11 && part >= 3 && all >= 2 && part + all == n) }'
ok $? "in a short run more rows from a part of the particles, with the noise of that"

rm "$dir/three/out"/*.csv "$dir/three/out"/*.hdf5 "$dir/three/out/parameters-used.ini" && rm -r "$dir/three/out/checkpoints"
go three 1
shown="$dir/three/err"
[ $status = 1 ] && grep -q 'out/projections has maps of an earlier run' "$dir/three/err" && [ "$(find "$dir/three/out/projections" -name '*.hdf5' | wc -l)" = 5 ]
ok $? "maps of an earlier run are kept, and the run is refused"
go three 1 --overwrite
shown="$dir/three/err"
[ $status = 0 ] && [ -z "$(ls "$dir/three/out/projections")" ]
ok $? "--overwrite removes the maps of the earlier run"

# maps that cannot be written: the run goes on, says so, and fails at its end
mkdir -p "$dir/no/out" && : > "$dir/no/out/projections"
# shellcheck disable=SC2086
go no 2 $maps
shown="$dir/no/err"
[ $status = 1 ] && [ "$(grep -c 'warning: the run continues without these maps' "$dir/no/err")" = 1 ] &&
  grep -q 'error: maps of 5 times could not be written' "$dir/no/err" && [ -e "$dir/no/out/snapshot_004.hdf5" ]
ok $? "a folder of maps that cannot be made"

# refuses TEXT PARAMETER...
refuses() {
  text=$1
  shift
  rm -rf "$dir/bad"
  go bad 1 "$@"
  [ $status = 1 ] && grep -q "$text" "$dir/bad/err" && [ "$(grep -c "^espalier:" "$dir/bad/err")" = 1 ] && [ ! -e "$dir/bad/out" ]
  ok $? "$*"
}
shown="$dir/bad/err"
refuses 'expected TimeBetProjections above 0 with Projections = on' -P Output:Projections=on
refuses 'expected some of xy, xz, yz' -P Output:ProjectionAxes=xy,zx
refuses 'expected some of xy, xz, yz' -P Output:ProjectionAxes=xy,xy
refuses 'expected some of xy, xz, yz' -P Output:ProjectionAxes=xy,
refuses 'ProjectionPixels' -P Output:ProjectionPixels=100000
refuses 'cannot resolve intervals' -P Output:Projections=on -P Output:TimeBetProjections=1e-300
echo "1..$number"
exit $failed
