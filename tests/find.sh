#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# EnergyError: what a run finds at its start is told and kept, so restarts, repeats and runs with the same values given
# have the same bits.
. "${srcdir:-.}/tests/harness.sh"
shown="said"
with_python "h5py"
model plummer -n 500 -s 7
parameters run.ini Output:TimeBetSnapshot=0.03125 Output:TimeBetStatistics=1e-9 Time:TimeMax=0.0625 \
  Gravity:Softening=0.0001 \
  Gravity:MultipoleOrder=2 Steps:Integrator=hermite Device:Backend=cpu Device:Tuning=frozen $hybrid
# go FOLDER RANKS ARGUMENT...: a run; $status
go() {
  folder=$1 ranks=$2
  shift 2
  launch "$ranks" run run.ini -P Output:OutputDir="$folder" "$@" > said 2>&1
  status=$?
}
# equal ONE TWO: the same energies and particles
equal() { same_rows "$1/energy.csv" "$2/energy.csv" && judge same "$1/snapshot_002.hdf5" "$2/snapshot_002.hdf5"; }
# found NAME: its value in the line that tells it
found() { sed -n "s/^EnergyError = .* $1 = \\([^ ,]*\\)[, ].*/\\1/p" found; }

error=Split:EnergyError=1e-5
go whole 1 -P $error
[ $status = 0 ] &&
  has said '^EnergyError = 1e-05: R1 = .*, R2 = .*, SoftStep = .*, Eta = .*, ErrTolForceAcc = .* for the whole run;'
ok $? "what was found is told"
check "with a table of the choices" test "$(grep -c '^  \*  *0\.' said)" = 1
cp said found
alone=$(found SoftStep)
for ranks in 1 2; do
  go straight$ranks $ranks -P $error
  go parts$ranks $ranks -P $error -P Checkpoints:CheckpointAtEnd=on -n 2 && [ $status = 0 ] &&
    go parts$ranks $ranks -P $error -r
  [ $status = 0 ] && equal straight$ranks parts$ranks
  ok $? "a restart keeps it: the same bits, on $ranks rank(s)"
done
check "a repeat finds the same" equal whole straight1
go given 1 -P Split:R1="$(found R1)" -P Split:R2="$(found R2)" -P Split:SoftStep="$(found SoftStep)" \
  -P Steps:Eta="$(found Eta)" \
  -P Gravity:ErrTolForceAcc="$(found ErrTolForceAcc)"
[ $status = 0 ] && equal whole given
ok $? "the same as with these values given"
check "snapshots hold the values" judge parameters whole/snapshot_002.hdf5 R1 "$(found R1)" R2 "$(found R2)" \
  SoftStep "$(found SoftStep)" Eta "$(found Eta)"
go finer 1 -P $error -P Checkpoints:CheckpointAtEnd=on -n 1 && go finer 1 -P $error -P Gravity:ErrTolForceAcc=1e-8 -r
[ $status = 0 ] && has said 'restart: ErrTolForceAcc = 1e-08 now' &&
  has finer/parameters-used.ini '^ErrTolForceAcc *= 1e-08'
ok $? "a smaller ErrTolForceAcc at a restart counts"
printf '1 0 0 0 0 0 1\n' > few.txt
go few 1 -P $error -P Gravity:Softening=0.01 -P Input:InitCondFile=few.txt -P Input:ICFormat=ascii -n 1
check "no values are found: a warning" has said 'warning: EnergyError = 1e-05: no values were found'
go parts1 1 -P Split:EnergyError=1e-6 -P Time:TimeMax=1 -r
[ $status = 1 ] && has said 'EnergyError = .*cannot be changed at a restart'
ok $? "another error at a restart: refused"
go kept 1 -P $error -P Split:R1=0.02 -P Split:R2=0.1 -n 1
[ $status = 0 ] && has said '^EnergyError = 1e-05: R1 = 0.02, R2 = 0.1, '
ok $? "values that are given stay"
go none 1 -P $error -P Steps:Integrator=leapfrog
[ $status = 1 ] && has said 'expected Integrator = hermite where EnergyError is given' && [ ! -e none ]
ok $? "not with the leapfrog: a sentence"
# two runs whose soft steps follow the rule, at each of which the energy is known in one of them
go often 1 -P Output:TimeBetStatistics=1e-9 && [ $status = 0 ] && go seldom 1 -P Output:TimeBetStatistics=1
soft_steps() { rows "$1/steps.csv" | cut -d , -f 1-3; }   # FOLDER
[ $status = 0 ] && [ "$(soft_steps often)" = "$(soft_steps seldom)" ] &&
  [ "$(wc -l < seldom/energy.csv)" -lt "$(wc -l < often/energy.csv)" ]
ok $? "without EnergyError: soft steps do not depend on when energies are measured"
model plummer -n 501 -s 7 --binaries 0.002 --binary-min 1e-5 --binary-max 1e-5 -o pair.hdf5
go pair 1 -P $error -P Input:InitCondFile=pair.hdf5 -n 1
cp said found
awk -v a="$alone" -v b="$(found SoftStep)" 'BEGIN {exit !(b > 0.85 * a && b < 1.15 * a)}'
ok $? "a hard binary: the soft step that is found hardly changes"
finish
