#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# EnergyError: what a run finds at its start is told and kept, so restarts, repeats and runs with the same values given have the same bits.
. "${srcdir:-.}/tests/tap.sh"
new_folder
shown="$dir/log"
export OMP_NUM_THREADS=1 SOURCE_DATE_EPOCH=1700000000
with_python "h5py"
"$here/espalier" ic plummer -n 500 -s 7 -o ic.hdf5 > log 2>&1 || exit 99
for_model 0.03125 0.0625 > run.ini
cat >> run.ini << END_OF_INI
[Gravity]
Softening = 0.0001
MultipoleOrder = 2
[Split]
Mode = hybrid
[Steps]
Scheme = block
Integrator = hermite
[Device]
Backend = cpu
Tuning = frozen
END_OF_INI
# go FOLDER RANKS ARGUMENT...: a run; $status
go() {
  folder=$1 ranks=$2
  shift 2
  launch "$ranks" run run.ini -P Output:OutputDir="$folder" "$@" > log 2>&1
  status=$?
}
# equal ONE TWO: the same energies and particles
equal() {
  grep -v '^#' "$1/energy.csv" > a && grep -v '^#' "$2/energy.csv" > b && cmp a b || return 1
  [ -z "$python" ] && return 0
  "$python" "$same" "$1/snapshot_002.hdf5" "$2/snapshot_002.hdf5"
}
# found NAME: its value in the line that tells it
found() { sed -n "s/^EnergyError = .* $1 = \\([^ ,]*\\)[, ].*/\\1/p" said; }

error=Split:EnergyError=1e-5
go whole 1 -P $error
[ $status = 0 ] && grep -q '^EnergyError = 1e-05: R1 = .*, R2 = .*, SoftStep = .*, Eta = .*, ErrTolForceAcc = .* for the whole run;' log
ok $? "what was found is told"
[ "$(grep -c '^  \*  *0\.' log)" = 1 ]
ok $? "with a table of the choices"
cp log said
alone=$(found SoftStep)
for ranks in 1 2; do
  go straight$ranks $ranks -P $error
  go parts$ranks $ranks -P $error -P Checkpoints:CheckpointAtEnd=on -n 2 && [ $status = 0 ] && go parts$ranks $ranks -P $error -r
  [ $status = 0 ] && equal straight$ranks parts$ranks
  ok $? "a restart keeps it: the same bits, on $ranks rank(s)"
done
equal whole straight1
ok $? "a repeat finds the same"
go given 1 -P Split:R1="$(found R1)" -P Split:R2="$(found R2)" -P Split:SoftStep="$(found SoftStep)" -P Steps:Eta="$(found Eta)" \
  -P Gravity:ErrTolForceAcc="$(found ErrTolForceAcc)"
[ $status = 0 ] && equal whole given
ok $? "the same as with these values given"
if [ -n "$python" ]; then
  "$python" -c 'import sys, h5py
a = h5py.File("whole/snapshot_002.hdf5")["Parameters"].attrs
sys.exit(not all(float(a[k]) == float(v) for k, v in zip(("R1", "R2", "SoftStep", "Eta"), sys.argv[1:])))' \
    "$(found R1)" "$(found R2)" "$(found SoftStep)" "$(found Eta)" > log 2>&1
  ok $? "snapshots hold the values"
fi
go finer 1 -P $error -P Checkpoints:CheckpointAtEnd=on -n 1 && go finer 1 -P $error -P Gravity:ErrTolForceAcc=1e-8 -r
[ $status = 0 ] && grep -q 'restart: ErrTolForceAcc = 1e-08 now' log && grep -q '^ErrTolForceAcc *= 1e-08' finer/parameters-used.ini
ok $? "a smaller ErrTolForceAcc at a restart counts"
printf '1 0 0 0 0 0 1\n' > few.txt
go few 1 -P $error -P Gravity:Softening=0.01 -P Input:InitCondFile=few.txt -P Input:ICFormat=ascii -n 1
grep -q 'warning: EnergyError = 1e-05: no values were found' log
ok $? "no values are found: a warning"
go parts1 1 -P Split:EnergyError=1e-6 -P Time:TimeMax=1 -r
[ $status = 1 ] && grep -q 'EnergyError = .*cannot be changed at a restart' log
ok $? "another error at a restart: refused"
go kept 1 -P $error -P Split:R1=0.02 -P Split:R2=0.1 -n 1
[ $status = 0 ] && grep -q '^EnergyError = 1e-05: R1 = 0.02, R2 = 0.1, ' log
ok $? "values that are given stay"
go none 1 -P $error -P Steps:Integrator=leapfrog
[ $status = 1 ] && grep -q 'expected Integrator = hermite where EnergyError is given' log && [ ! -e none ]
ok $? "not with the leapfrog: a sentence"
# two runs whose soft steps follow the rule, at each of which the energy is known in one of them
go often 1 -P Output:TimeBetStatistics=1e-9 && [ $status = 0 ] && go seldom 1 -P Output:TimeBetStatistics=1
# ends FOLDER: of its soft steps
ends() { grep -v '^#' "$1/steps.csv" | cut -d , -f 1-3; }
[ $status = 0 ] && [ "$(ends often)" = "$(ends seldom)" ] && [ "$(wc -l < seldom/energy.csv)" -lt "$(wc -l < often/energy.csv)" ]
ok $? "without EnergyError: soft steps do not depend on when energies are measured"
"$here/espalier" ic plummer -n 501 -s 7 --binaries 0.002 --binary-min 1e-5 --binary-max 1e-5 -o pair.hdf5 > log 2>&1 || exit 99
go pair 1 -P $error -P Input:InitCondFile=pair.hdf5 -n 1
cp log said
awk -v a="$alone" -v b="$(found SoftStep)" 'BEGIN {exit !(b > 0.85 * a && b < 1.15 * a)}'
ok $? "a hard binary: the soft step that is found hardly changes"
echo "1..$number"
