#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A run whose disk of 20 MB fills up: it continues without snapshots and checkpoints, leaves no incomplete file under a
# final name, and writes them when there is space again. On one and on three ranks.
. "${srcdir:-.}/tests/harness.sh"
[ "${1-}" = inside ] || { small_disk 20m full_disk_run.sh; skip_all "a file system may not be mounted here"; }
disk=$2
parts_model 4000
more_than() { [ "$(cat "$disk/out/steps.csv" 2> /dev/null | wc -l)" -gt "$1" ]; }
snapshots() { grep -c '^snapshot ' full/log; }
tells() { grep -q "$1" full/log full/err; }
# a check, with the first and the last messages for the log
brief_ok() {
  { head -n 3 full/err; tail -n 3 full/err; tail -n 2 full/log; } > brief 2> /dev/null
  shown=brief
  ok "$1" "$ranks ranks: $2"
}

for ranks in 1 3; do
  rm -rf "${disk:?}"/*
  begin full $ranks -v -P Output:OutputDir="$disk/out" -P Time:TimeMax=100 -P Output:TimeBetSnapshot=0.5 \
    -P Checkpoints:TimeBetCheckpoints=0.01
  within 30 tells '^checkpoint ' && within 30 more_than 10
  brief_ok $? "under way"
  head -c 30000000 /dev/zero > "$disk/filler" 2> /dev/null
  within 30 tells 'warning: no checkpoint could be written, the run continues: ' &&
    within 30 tells 'warning: the run continues without this snapshot, and tries again: '
  brief_ok $? "a full disk is reported"
  brief_ok "$(df "$disk" | awk 'NR == 2 { print ($4 > 100) }')" "it is full"
  step=$(tail -n 1 full/log | awk '{ print $1 }')
  steps_on() { [ "$(grep -c -E '^ +[0-9]+ ' full/log)" -gt $((step + 8)) ]; }
  within 20 steps_on
  brief_ok $? "$ranks ranks: and the run continues"
  written=$(snapshots)
  rm "$disk/filler"
  # the late one, or the next one where that is due now
  more_snapshots() { [ "$(snapshots)" -gt "$written" ]; }
  within 30 more_snapshots
  brief_ok $? "$ranks ranks: with space again, a snapshot is written"
  : > "$disk/out/stop"
  ended
  ends 0 && grep -q -x state=interrupted "$disk/out/status"
  brief_ok $? "$ranks ranks: stopped by a file, with a checkpoint"
  ! temporary
  brief_ok $? "$ranks ranks: no temporary file is left"
  # all rows are there, in order, whole
  last=$(tail -n 1 "$disk/out/steps.csv" | cut -d , -f 1)
  rows "$disk/out/steps.csv" | awk -F, -v last="$last" 'NR == 1 { n = NF; next } { bad += NF != n || $1 != NR - 1 }
    END { exit bad > 0 || NR - 1 != last }'
  brief_ok $? "no row of steps.csv is lost or torn"
  # reading one as input compares all checksums
  for f in "$disk"/out/snapshot_*.hdf5; do
    try espalier force -P Input:InitCondFile="$f" -P Time:TimeMax=1000 \
      -P Gravity:TypeOfOpeningCriterion=angle run.ini ||
      { echo "# $f"; cat said err; }
  done | tee bad
  [ ! -s bad ]
  brief_ok $? "all snapshots are whole"
done
finish
