#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A run that is interrupted and gone on with gives the same bits as one that is not: on 1, 2 and 4 ranks and on a
# device, with one step for all, with block steps, with the split. On other numbers of ranks it gives nearly the same.
. "${srcdir:-.}/tests/harness.sh"
parts_model 2000
places="cpu-1 cpu-2 cpu-4" others="1 2 3 7"
# a part of them, which runs the same code
[ -z "${TEST_SAMPLE-}" ] || places=cpu-4 others=3
if espalier info | grep -q 'cuda *device'; then places="$places cuda-1 cuda-2"; else echo \
  "# no device: tried on CPUs alone"; fi
for place in $places; do
  backend=${place%-*} ranks=${place#*-}
  for mode in leapfrog block hybrid; do
    case $mode in
      leapfrog) set -- -P Split:Mode=tree -P Steps:Scheme=shared -P Steps:FixedStep=0.0078125 ;;
      block) set -- -P Split:Mode=tree -P Time:MaxSizeTimestep=0.015625 ;;
      *) set -- -P Split:Mode=hybrid ;;
    esac
    set -- "$@" -P Device:Backend=$backend -P Gravity:WalkMethod=groups
    one=$mode-$place two=$mode-$place-parts
    go "$one" $ranks "$@"
    ok $status "$mode, $place: a run"
    go "$two" $ranks -n 3 "$@"
    go "$two" $ranks -n 4 -r last "$@"
    go "$two" $ranks -r "$@"
    ends 0 && has "$two/log" 'restart from out/checkpoints/checkpoint_000004'
    ok $? "$mode, $place: the same in three parts"
    check "$mode, $place: the same snapshots and tables" same "$one" "$two"
  done
done

# From another time than 0: times of outputs count from there. (Only files without a time of their own take TimeBegin.)
awk 'BEGIN { srand(3); for (i = 0; i < 500; i++) { for (k = 0; k < 6; k++) printf "%.6f ", rand() - 0.5;
  print 0.002 } }' > ic.txt
set -- -P Input:InitCondFile=../ic.txt -P Input:ICFormat=ascii -P Time:TimeBegin=-3.3 -P Time:TimeMax=-3.175
go begin 2 "$@"
ok $status "TimeBegin = -3.3: a run"
for part in 1 2 3; do
  [ $part = 1 ] && go begin-parts 2 "$@" --walltime 0
  [ $part = 1 ] || go begin-parts 2 "$@" -r --walltime 0
done
go begin-parts 2 "$@" -r
ends 0 && same begin begin-parts
ok $? "TimeBegin = -3.3: the same in four parts"

# Other numbers of ranks: the rest of the way has other rounding and other cells, within the criterion's error.
# near ONE TWO: as many rows of energy.csv, the same up to the checkpoint, total energies near each other behind it
near() {
  rows "$1" > one.rows && rows "$2" > two.rows && awk -F, '
    FNR == NR { row[n++] = $0; total[n] = $4; next }
    { if ($0 != row[m++]) differ++; if ($4 != "total") { d = $4 / total[m] - 1; if (d < 0) d = -d;
      if (d > worst) worst = d } }
    END { printf "# %d of %d rows differ; energies differ by at most %.1e\n", differ, m, worst
      exit !(m == n && differ < m - 3 && worst < 5e-4) }' one.rows two.rows
}
with_python "h5py, numpy"
go from4 4 -n 4
for ranks in $others; do
  rm -rf to && cp -r from4 to
  go to $ranks -r
  ends 0 && has to/log 'checkpoint_000004 (of 4 ranks)'
  ok $? "from 4 ranks to $ranks"
  check "from 4 ranks to $ranks: the energies are near those of the run on 4" near hybrid-cpu-4/out/energy.csv \
    to/out/energy.csv
  check "from 4 ranks to $ranks: the particles are near those of the run on 4" \
    judge near hybrid-cpu-4/out/snapshot_004.hdf5 to/out/snapshot_004.hdf5
done
finish
