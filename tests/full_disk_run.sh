#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A run whose disk of 20 MB fills up: it continues without snapshots and checkpoints, leaves no incomplete file under a final
# name, and writes them when there is space again. On one and on three ranks.
. "${srcdir:-.}/tests/harness.sh"
if [ "$1" != inside ]; then
  inside="mount -t tmpfs -o size=20m espalier-test"
  mount=$(mktemp -d) session=$(mktemp -d) || exit 99
  trap 'rmdir "$mount"; rm -rf "$session"' EXIT
  for try in "unshare -m" "unshare -rm"; do
    # in a namespace of its own the launcher may not write into the usual folder of user 0
    $try sh -c "$inside $mount" 2> /dev/null || continue
    $try sh -c "$inside $mount && TMPDIR=$session sh '${srcdir:-.}/tests/full_disk_run.sh' inside $mount"
    exit
  done
  echo "1..0 # SKIP a file system may not be mounted here"
  exit 0
fi
disk=$2
parts_model 4000
rows() { cat "$disk/out/steps.csv" 2> /dev/null | wc -l; }
more_than() { [ "$(rows)" -gt "$1" ]; }
snapshots() { grep -c '^snapshot ' log; }
reports() { grep -q "$1" log err; }
temporary() { find "$disk/out" -name '*.tmp' | grep -q .; }
# for the log: the first and the last messages
brief_ok() {
  brief
  ok "$@"
}
brief() { { head -n 3 err; tail -n 3 err; tail -n 2 log; } > brief 2> /dev/null; }
gone() { ! kill -0 "$job" 2> /dev/null; }

for ranks in 1 3; do
  rm -rf "${disk:?}"/*
  shown="brief"
  (cd "$dir" && exec ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n $ranks espalier run -v -P Input:InitCondFile=plummer.hdf5 -P Output:OutputDir="$disk/out" -P Time:TimeMax=100 \
    -P Output:TimeBetSnapshot=0.5 -P Checkpoints:TimeBetCheckpoints=0.01 run.ini) > log 2> err < /dev/null &
  job=$!
  within 30 reports '^checkpoint ' && within 30 more_than 10
  brief_ok $? "$ranks ranks: under way"
  head -c 30000000 /dev/zero > "$disk/filler" 2> /dev/null
  within 30 reports 'warning: no checkpoint could be written, the run continues: ' && within 30 reports 'warning: the run continues without this snapshot, and tries again: '
  brief_ok $? "$ranks ranks: a full disk is reported"
  brief_ok "$(df "$disk" | awk 'NR == 2 { print ($4 > 100) }')" "$ranks ranks: it is full"
  step=$(tail -n 1 log | awk '{ print $1 }')
  steps_on() { [ "$(grep -c -E '^ +[0-9]+ ' log)" -gt $((step + 8)) ]; }
  within 20 steps_on
  brief_ok $? "$ranks ranks: and the run continues"
  written=$(snapshots)
  rm "$disk/filler"
  # the late one, or the next one where that is due now
  more_snapshots() { [ "$(snapshots)" -gt "$written" ]; }
  within 30 more_snapshots
  brief_ok $? "$ranks ranks: with space again, a snapshot is written"
  : > "$disk/out/stop"
  within 30 gone || kill -KILL $job
  wait $job
  status=$?
  job=
  ends 0 && grep -q -x state=interrupted "$disk/out/status"
  brief_ok $? "$ranks ranks: stopped by a file, with a checkpoint"
  ! temporary
  brief_ok $? "$ranks ranks: no temporary file is left"
  # all rows are there, in order, whole
  last=$(tail -n 1 "$disk/out/steps.csv" | cut -d , -f 1)
  grep -v '^#' "$disk/out/steps.csv" | awk -F, -v last="$last" 'NR == 1 { n = NF; next } { bad += NF != n || $1 != NR - 1 } END { exit bad > 0 || NR - 1 != last }'
  brief_ok $? "$ranks ranks: no row of steps.csv is lost or torn"
  # reading one as input compares all checksums
  for f in "$disk"/out/snapshot_*.hdf5; do
    espalier force -P Input:InitCondFile="$f" -P Time:TimeMax=1000 -P Gravity:TypeOfOpeningCriterion=angle run.ini > check.log 2>&1 ||
      { echo "# $f"; cat check.log; }
  done > bad.log
  cat bad.log
  test ! -s bad.log
  brief_ok $? "$ranks ranks: all snapshots are whole"
done
finish
