#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Binaries within a run: binaries.csv and events.csv are what espalier-plot binaries finds in snapshots of the same
# times, on 1, 2 and 3 ranks; interrupted runs have the same rows; who escapes is said once.
. "${srcdir:-.}/tests/harness.sh"
with_plots
model plummer -n 300 --binaries 0.25 --binary-min 1e-4 --binary-max 6e-2 -s 5
parameters run.ini Input:InitCondFile=../ic.hdf5 Output:OutputDir=out Output:TimeBetSnapshot=0.0625 Time:TimeMax=1 \
  Output:TimeBetStatistics=1 Checkpoints:CheckpointAtEnd=on Gravity:Softening=0 Split:R1=0.04 Split:R2=0.16 \
  Split:SoftStep=0.0078125 Split:Kernel=septic Steps:Integrator=hermite Steps:Eta=0.1 Device:Backend=cpu \
  Device:Tuning=frozen Binaries:Interval=0.0625 $hybrid
events() { rows "$1/out/events.csv" | cut -d, -f3 | grep -c "$2"; }   # RUN KIND

# --- the same as from snapshots ---
for ranks in 1 2 3; do
  go on$ranks $ranks
  [ $status = 0 ] && quiet && [ "$(rows on$ranks/out/binaries.csv | cut -d, -f1 | sort -u | wc -l)" = 18 ]
  ok $? "a run on $ranks rank(s): 17 times"
  try "$plot" binaries on$ranks/out/snapshot_*.hdf5 -o x.png --table table.csv --events events.csv &&
    judge same_systems on$ranks/out/binaries.csv table.csv on$ranks/out/events.csv events.csv > said
  ok $? "binaries.csv and events.csv are those of its snapshots: $(tail -n 1 said)"
done
[ "$(events on1 formed)" -gt 0 ] && [ "$(events on1 dissolved)" -gt 0 ]
ok $? "some formed ($(events on1 formed)) and dissolved ($(events on1 dissolved)), $(events on1 exchanged) exchanged"
# alike ONE TWO: the same orbits at first, and the same systems and events until rounding has grown
alike() {
  set -- "$1/out/binaries.csv" "$2/out/binaries.csv" "$1/out/events.csv" "$2/out/events.csv"
  judge same_systems "$@" 0.0625 1e-6 && judge same_systems "$@" 0.1875 0.5
}
for ranks in 2 3; do check "the same on one rank and $ranks" alike on1 on$ranks; done
go off 1 -P Binaries:Interval=0
[ $status = 0 ] && [ ! -e off/out/binaries.csv ] && [ ! -e off/out/events.csv ] && same_rows on1/out/energy.csv \
  off/out/energy.csv && judge same on1/out/snapshot_016.hdf5 off/out/snapshot_016.hdf5
ok $? "Interval = 0: no tables, and the same steps"
go lower 1 -P Binaries:Limit=1e-6 -P Time:TimeMax=0.0625
[ $status = 0 ] && [ "$(grep -c '^0,' lower/out/binaries.csv)" -lt "$(grep -c '^0,' on1/out/binaries.csv)" ]
ok $? "a lower Limit has fewer pairs"
# the last time is no multiple
go last 1 -P Binaries:Interval=0.05 -P Time:TimeMax=0.09375 -n 11
[ $status = 0 ] && [ "$(rows last/out/binaries.csv | cut -d, -f1 | uniq | tr '\n' ' ')" = \
  'time 0 0.0546875 0.0859375 ' ]
ok $? "first synchronisations after multiples, and the end"

# --- restarts ---
for ranks in 1 3; do
  go part$ranks $ranks -n 37
  go part$ranks $ranks -n 90 -r
  go part$ranks $ranks -r
  [ $status = 0 ] && same_rows on$ranks/out/binaries.csv part$ranks/out/binaries.csv &&
    same_rows on$ranks/out/events.csv part$ranks/out/events.csv
  ok $? "$ranks rank(s): the same rows in three parts"
done
go other 3 -n 20
go other 2 -r -P Time:TimeMax=0.375
[ $status = 0 ] && alike on2 other &&
  [ "$(rows other/out/binaries.csv | cut -d, -f1 | sort -u | wc -l)" = 8 ]
ok $? "from 3 ranks to 2: the events of the run go on"

# --- escapes ---
# a ball of 100 stars; a pair (101, 102) and a star (103) that leave it, two stars (104, 105) beyond: one is slow
awk 'BEGIN { srand(3); for (i = 0; i < 100;) { x = 2 * rand() - 1; y = 2 * rand() - 1; z = 2 * rand() - 1
    if (x * x + y * y + z * z > 1) continue
    print x, y, z, 0.4 * (rand() - 0.5), 0.4 * (rand() - 0.5), 0.4 * (rand() - 0.5), 0.01; i++ }
  print "1.2 0 0 6 1.5811388 0 0.01"; print "1.202 0 0 6 -1.5811388 0 0.01"; print "0 1.2 0 0 7 0 0.01"
  print "0 0 9 0 0 5 0.01"; print "0 0 -9 0 0 0.05 0.01" }' > ball.txt
go escapes 1 -P Input:InitCondFile=../ball.txt -P Time:TimeMax=1
table '$at["event"] == "escaped" { print $at["first"], $at["second"], $at["stars"], $at["mass"] * 100, \
  ($at["distance"] > 3 && $at["distance"] < 7), ($at["speed"] > 5 && $at["speed"] < 7), $at["until"] - $at["after"] }' \
  escapes/out/events.csv | sort > said
[ "$(sed 's/ 0.0625$//' said | tr '\n' ' ')" = '101 102 2 2 1 1 103  1 1 1 1 ' ]
ok $? "a pair and a star escape, each once; one that was outside at the begin is not said: $(tr '\n' ';' < said)"
for limit_of in 70 110; do
  go escapes-$limit_of 1 -P Input:InitCondFile=../ball.txt -P Time:TimeMax=1 -n $limit_of
  go escapes-$limit_of 1 -P Input:InitCondFile=../ball.txt -P Time:TimeMax=1 -r
  [ $status = 0 ] && same_rows escapes/out/events.csv escapes-$limit_of/out/events.csv
  ok $? "the same where the run is interrupted in soft step $limit_of"
done

# --- what is refused, and what is not looked at ---
refused 'times up to 1 cannot resolve intervals below' -P Binaries:Interval=1e-300
go many 1 -P Time:TimeMax=0.015625 --check
[ $status = 0 ] && lacks many/log 'binaries.csv'
ok $? "run --check says nothing of 300 particles"
export ESPALIER_DEBUG=binaries_most=299
go many 1 -P Time:TimeMax=0.015625 --check
[ $status = 0 ] && has many/log 'binaries.csv and events.csv are not written, for 300 particles; at most 299'
ok $? "run --check warns of too many particles"
go many 1 -P Time:TimeMax=0.015625
[ $status = 0 ] && has many/err 'warning: .*Interval = 0.0625: binaries.csv and events.csv are not written' &&
  [ ! -e many/out/binaries.csv ]
ok $? "a run of too many particles goes on without, with a warning"
finish
