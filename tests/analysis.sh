#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What is looked at while a run proceeds: rows of analysis.csv and maps, in a run, after restarts, on several ranks, on
# a full disk; and sentences for bad parameters.
. "${srcdir:-.}/tests/harness.sh"
parts_model 1000
maps="-P Output:Projections=on -P Output:TimeBetProjections=0.03 -P Output:ProjectionPixels=32
  -P Output:ProjectionAxes=xy,yz"
# of NAME RUN TYPE: a column of analysis.csv, of rows of a type
of() { columns "$2/out/analysis.csv" type "$1" | awk -v type="$3" '$1 == type { print $2 }'; }
maps_in() { find "$1/out/projections" -name '*.hdf5' | wc -l; }
row() { rows "$1/out/analysis.csv" | sed -n 2p | cut -d, -f 3-19; }

go one 1 $maps
ok $status "a run with maps"
[ "$(of time one 1)" = "$(columns one/out/energy.csv time)" ] && [ "$(of time one -1 | wc -l)" = 9 ]
ok $? "rows of a type and of all at the times of energy.csv"
rows one/out/analysis.csv | awk -F, 'NR == 1 { n = NF } { bad += NF != n } $2 == -1 { bad += $20 == "" }
  END { exit bad > 0 || NR != 19 }'
ok $? "every row has all columns"
of virial_ratio one -1 | awk '$1 < 0.9 || $1 > 1.1 { bad = 1 } END { exit bad || NR != 9 }' &&
  [ -z "$(of virial_ratio one 1 | tr -d '\n')" ]
ok $? "the virial ratio of all alone"
of r_50 one -1 | awk '$1 < 0.65 || $1 > 0.9 { bad = 1 } END { exit bad || NR != 9 }'
ok $? "the half-mass radius of a Plummer sphere"
[ "$(cd one/out/projections && echo *)" = "$(printf 'projection_000%d.hdf5 ' 0 1 2 3)projection_0004.hdf5" ]
ok $? "maps at the start, and at the first synchronisations after multiples of 0.03"

# maps and analysis change nothing else
go plain 1 -P Output:Analysis=off
same_rows one/out/energy.csv plain/out/energy.csv && cmp one/out/energy.csv plain/out/energy.csv &&
  without one/out/steps.csv h imbalance_seconds seconds > one.steps &&
  without plain/out/steps.csv h imbalance_seconds seconds | cmp - one.steps &&
  ends 0 && [ ! -e plain/out/projections ] && [ ! -e plain/out/analysis.csv ]
ok $? "the same orbits without them"

# in parts: rows, numbers of maps and the width are those of an uninterrupted run; later maps are removed
go parts 1 $maps -n 3
go parts 1 $maps -n 6 -r
check "four maps after six soft steps" test "$(maps_in parts)" = 4
go parts 1 $maps -n 5 -r 3
ends 0 && [ "$(maps_in parts)" = 3 ]
ok $? "going back to an earlier checkpoint removes later maps"
go parts 1 $maps -r
ends 0 && same one parts && diff -r one/out/projections parts/out/projections && [ "$(maps_in one)" = 5 ]
ok $? "the same rows and maps after restarts"

# on several ranks orbits differ in rounding, and so do the rows; the first row does not
go three 3 $maps
ends 0 && [ "$(row one)" = "$(row three)" ] &&
  cmp one/out/projections/projection_0000.hdf5 three/out/projections/projection_0000.hdf5
ok $? "the first row and map on three ranks are those on one"
[ "$(of r_50 three 1 | awk '{ printf "%.4f ", $1 }')" = "$(of r_50 one 1 | awk '{ printf "%.4f ", $1 }')" ]
ok $? "... and later ones are near"

# cost, by counting: by rule at most 300 times, with few rows where soft steps are few
go rule 1 -P Output:TimeBetStatistics=0
ends 0 && [ "$(rows rule/out/analysis.csv | wc -l)" = 5 ] && [ "$(count rule/out/energy.csv '^[0-9]')" = 2 ]
ok $? "by rule rows cost a few percent: two times in eight soft steps"
model plummer -n 6000 -o more.hdf5
go many 1 -P Output:TimeBetStatistics=0 -P Input:InitCondFile=../more.hdf5 -P Split:Mode=tree -P Split:SoftStep=0 \
  -P Steps:Scheme=shared -P Steps:FixedStep=0.00390625 -P Time:TimeMax=0.5 -P Output:TimeBetSnapshot=0
ends 0 && columns many/out/energy.csv energy_noise | awk '
  { n++; all += $1 < 1e-7; part += $1 > 1e-7 && $1 < 5e-6 }
  END { print "# rows:", n, "of all particles:", all
    exit !(n >= 5 && n <= 11 && part >= 3 && all >= 2 && part + all == n) }'
ok $? "in a short run more rows from a part of the particles, with the noise of that"

rm three/out/*.csv three/out/*.hdf5 three/out/parameters-used.ini && rm -r three/out/checkpoints
go three 1
ends 1 'out/projections exists: it is of an earlier run (tables, maps)' && [ "$(maps_in three)" = 5 ]
ok $? "maps of an earlier run are kept, and the run is refused"
go three 1 --overwrite
ends 0 && [ -z "$(ls three/out/projections)" ]
ok $? "--overwrite removes the maps of the earlier run"

# maps that cannot be written: the run goes on, says so, and fails at its end
mkdir -p no/out && : > no/out/projections
go no 2 $maps
ends 1 && [ "$(grep -c 'warning: the run continues without these maps' no/err)" = 1 ] &&
  has no/err 'error: maps of 5 times could not be written' && [ -e no/out/snapshot_004.hdf5 ]
ok $? "a folder of maps that cannot be made"

refused 'expected TimeBetProjections above 0 with Projections = on' -P Output:Projections=on
refused 'expected some of xy, xz, yz' -P Output:ProjectionAxes=xy,zx
refused 'expected some of xy, xz, yz' -P Output:ProjectionAxes=xy,xy
refused 'expected some of xy, xz, yz' -P Output:ProjectionAxes=xy,
refused 'ProjectionPixels' -P Output:ProjectionPixels=100000
refused 'cannot resolve intervals' -P Output:Projections=on -P Output:TimeBetProjections=1e-300
finish
