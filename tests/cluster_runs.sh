#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs of a star cluster without softening, with two masses and two hard binaries: true energies on one rank and three,
# bound pairs in steps.csv, restarts on the same ranks (the same bits) and on others. tests/slow/clusters.sh has the
# accuracy of larger ones.
. "${srcdir:-.}/tests/harness.sh"
shown="said"
with_python "h5py"
model plummer -n 800 -s 3 --mass-function two --binaries 0.0026 --binary-min 1e-4 --binary-max 1e-4 --eccentricity 0.9
parameters run.ini Output:TimeBetSnapshot=0.0625 Output:TimeBetStatistics=1e-9 Time:TimeMax=0.125 Gravity:Softening=0 \
  Gravity:MultipoleOrder=2 Gravity:ErrTolForceAcc=0.0001 Split:Kernel=septic Split:R1=0.05 Split:R2=0.2 \
  Split:SoftStep=0.0078125 Steps:Integrator=hermite Steps:Eta=0.1 Device:Backend=cpu Device:Tuning=frozen $hybrid
# go FOLDER RANKS ARGUMENT...: a run; $status
go() {
  folder=$1 ranks=$2
  shift 2
  limit=200 launch "$ranks" run -q run.ini -P Output:OutputDir="$folder" "$@" > said 2>&1
  status=$?
}
# true_energy FOLDER TEXT: its largest error is below the limit
true_energy() {
  "$here/tests/true_energy" --max 5e-6 "$1"/snapshot_00[0-2].hdf5 > said 2>&1 < /dev/null
  ok $? "$2: true energies ($(sed -n 's/^# largest //p' said))"
}
# numbers FOLDER: steps, and those with the two pairs, whose period is 2 pi sqrt(a^3 / (G m)) of pairs of either mass,
# and e = 0.9
numbers() {
  table '{ n++; pairs += $at["binaries"] == 2 && $at["shortest_period"] < 1.6e-4 && $at["shortest_period"] > 3e-5 &&
        ($at["largest_eccentricity"] - 0.9) ^ 2 < 1e-4 && $at["neighbours"] > 2 && $at["neighbours"] < 100 &&
          $at["hard_steps"] > 800 }
    END { print n, pairs }' "$1/steps.csv"
}
# same_ends WHOLE PARTS: the same energies and particles
same_ends() { same_rows "$1/energy.csv" "$2/energy.csv" && judge same "$1/snapshot_002.hdf5" "$2/snapshot_002.hdf5"; }

go one 1
[ $status = 0 ] && [ "$(numbers one)" = "16 16" ]
ok $? "steps.csv: two bound pairs in each soft step ($(numbers one))"
true_energy one "one rank"
go three 3
[ $status = 0 ] && [ "$(numbers three)" = "16 16" ]
ok $? "three ranks find the same pairs ($(numbers three))"
true_energy three "three ranks"
for ranks in 1 3; do
  go parts$ranks $ranks -P Checkpoints:CheckpointAtEnd=on -n 5 && [ $status = 0 ] && go parts$ranks $ranks -r &&
    [ $status = 0 ] &&
    same_ends $([ $ranks = 1 ] && echo one || echo three) parts$ranks
  ok $? "a restart on $ranks rank(s) has the same bits"
done
go other 3 -P Checkpoints:CheckpointAtEnd=on -n 5 && [ $status = 0 ] && go other 2 -r
# counts of the soft step under way are those of a rank, and other ranks do not have them
[ $status = 0 ] && [ "$(numbers other)" = "16 15" ]
ok $? "a restart on two ranks of a checkpoint of three ($(numbers other))"
true_energy other "three ranks, then two"
# Time steps by pairs: the same steps and nearly the same energies on 1, 2 and 3 ranks; a restart has the same bits.
for ranks in 1 2 3; do
  go pairs$ranks $ranks -P Steps:Integrator=leapfrog -P Steps:Criterion=pairs -P Steps:Eta=0 && [ $status = 0 ] &&
    [ "$(numbers pairs$ranks)" = "16 16" ]
  ok $? "time steps by pairs on $ranks rank(s): two bound pairs in each soft step ($(numbers pairs$ranks))"
  true_energy pairs$ranks "time steps by pairs on $ranks rank(s)"
done
if [ -n "$python" ]; then check "positions on 1, 2 and 3 ranks agree" judge binaries_apart \
  pairs[123]/snapshot_002.hdf5; fi
set -- -P Steps:Integrator=leapfrog -P Steps:Criterion=pairs -P Steps:Eta=0
go cut 1 "$@" -P Checkpoints:CheckpointAtEnd=on -n 5 && [ $status = 0 ] && go cut 1 -r "$@" && [ $status = 0 ] &&
  same_rows pairs1/energy.csv cut/energy.csv
ok $? "time steps by pairs: a restart has the same bits"
# A softened sphere that falls together: R2 by its rule becomes smaller, and the energy is that of the new radii at
# once.
model uniform --virial-ratio 0 -n 400 -o cold.hdf5
for ranks in 1 2; do
  go cold$ranks $ranks -P Input:InitCondFile=cold.hdf5 -P Split:R1=0 -P Split:R2=0 -P Split:SoftStep=0.0625 \
    -P Gravity:Softening=0.003 -P Time:TimeMax=3 -P Output:TimeBetSnapshot=3
  [ $status = 0 ] &&
    changes=$(table '{ if (n++ && $at["R2"] < 0.9 * r) changes++; r = $at["R2"]; if ($at["dE"] ^ 2 > 1e-6) bad = 1 }
    END { print bad ? 0 : changes + 0 }' cold$ranks/steps.csv) && [ "$changes" -ge 1 ]
  ok $? "R2 changes ($changes times), and the energy does not, on $ranks rank(s)"
done
finish
