#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Soft steps that are interrupted: requests are served at checkpoint ticks, and the run goes on from there to the same
# bits; on another number of ranks within the error of the forces. A long soft step reports its progress.
. "${srcdir:-.}/tests/harness.sh"
shown=said
export ESPALIER_DEBUG=checkpoint_ticks=4
with_python "h5py" || echo "# no python3 with h5py: energies alone are compared"
model hernquist -n 600 -s 7
for mode in hybrid tree; do
  parameters $mode.ini Output:TimeBetSnapshot=0.0625 Output:TimeBetStatistics=1e-9 Time:TimeMax=0.0625 \
    Gravity:Softening=0.003 \
    Split:Mode=$mode Split:xs=0.2 Device:Backend=cpu Steps:Scheme=block Steps:Eta=1
done
# go RANKS MODE FOLDER ARGUMENT...
go() {
  ranks=$1 mode=$2 folder=$3
  shift 3
  launch "$ranks" run "$mode.ini" -P Output:OutputDir="$folder" "$@" >> said 2>&1
}
state() { sed -n 's/^state=//p' "$1/status"; }
# chain RANKS_FIRST RANKS MODE FOLDER: jobs without time, each of which ends at the next checkpoint tick
chain() {
  : > said
  go "$1" "$3" "$4" --walltime 0:0 || return 1
  jobs=1
  while [ "$(state "$4")" = interrupted ] && [ $jobs -lt 30 ]; do
    go "$2" "$3" "$4" --restart last --walltime 0:0 || return 1
    jobs=$((jobs + 1))
  done
  [ "$(state "$4")" = finished ]
}
# the same values in both folders
same() { same_rows "$1/energy.csv" "$2/energy.csv" && judge same "$1/snapshot_001.hdf5" "$2/snapshot_001.hdf5"; }

for mode in hybrid tree; do
  for ranks in 1 $([ -n "${TEST_SAMPLE-}" ] || echo 2) 3; do
    : > said
    go $ranks $mode straight$ranks$mode && chain $ranks $ranks $mode chain$ranks$mode && [ $jobs -ge 4 ]
    ok $? "$mode, $ranks rank(s): $jobs jobs, each of which ends within a soft step"
    same straight$ranks$mode chain$ranks$mode
    ok $? "$mode, $ranks rank(s): they end with the bits of one job"
  done
done
: > said
go 2 hybrid stopped --walltime 0:0
has said '^next: mpirun -n 2 espalier run --restart -P Output:OutputDir=stopped hybrid.ini$' &&
  lacks said 'dE/E| 0.000e'
ok $? "the last line is the command that continues the run; no error of one row"
chain 2 3 hybrid other && columns other/energy.csv total |
  awk 'NR == 1 { first = $1 } { off = $1 / first - 1; if (off * off > 1e-6) bad = 1 } END { exit bad || NR < 2 }'
ok $? "a run on 2 ranks goes on on 3: the energy is as good"
# the first job ends within the soft step; the second one has another schedule, and builds trees at every shortest step
: > said
go 3 tree changed --walltime 0:0 && go 3 tree changed -r -P Gravity:RebuildInterval=1 &&
  [ "$(state changed)" = finished ]
ok $? "a restart within a soft step with another RebuildInterval"
: > said
go 3 tree changed --overwrite --walltime 0:0 && go 3 tree changed -r -P Domain:DomainGrid=1x3x1 &&
  [ "$(state changed)" = finished ]
ok $? "and with another DomainGrid"
ESPALIER_DEBUG=checkpoint_ticks=4,report_seconds=0 go 1 hybrid told &&
  has \
  said '^  within soft step 1: [0-9]* block steps so far, level [0-9]* of at most [0-9]*, [0-9.]* % done in 0:0[0-9], '
ok $? "the progress within a soft step is shown"
: > said
ESPALIER_DEBUG=checkpoint_ticks=4,report_seconds=0 go 1 hybrid quiet --quiet && lacks said 'within soft step'
ok $? "and not with --quiet"
mkdir asked && : > said
go 1 hybrid asked --overwrite -P Checkpoints:TimeBetCheckpoints=1e-9 &&
  [ "$(count said '^checkpoint checkpoint_000001 in soft step 1')" -ge 3 ] && same straight1hybrid asked
ok $? "checkpoints within a soft step, after which the run goes on, change no bit"
finish
