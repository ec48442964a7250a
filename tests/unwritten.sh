#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Results that the disk did not take, or lost: rows are in the checkpoint and are written later, missing snapshots are
# named until the end of the run, a table that is not as it was at the checkpoint is reported. And snapshots of a killed
# run with -n stay where they are.
. "${srcdir:-.}/tests/harness.sh"
[ "${1-}" = inside ] || small_disk 2m unwritten.sh
disk=${2-}
parts_model 1000
value() { sed -n "s/^$1=//p" "$2/out/status"; }

# --- a full disk ---
for ranks in 1 2; do
  [ -n "$disk" ] || { echo "# SKIP a file system may not be mounted here: no full disk"; break; }
  # 64 rows of substeps.csv in a soft step
  set -- -P Checkpoints:CheckpointDir=elsewhere -P Steps:Scheme=shared -P Steps:FixedStep=0.000244140625
  go whole-$ranks $ranks "$@"
  name=full-$ranks
  rm -rf "${disk:?}"/*
  mkdir -p "$name" "$disk/out"
  ln -s "$disk/out" "$name/out"
  go $name $ranks "$@" --walltime 0
  head -c 4000000 /dev/zero > "$disk/filler" 2> /dev/null
  bad=0
  for _ in 1 2 3 4; do
    go $name $ranks "$@" -r --walltime 0
    ends 0 && reports $name state=interrupted || bad=1
  done
  ok $bad "$ranks ranks: on a full disk jobs are interrupted with a checkpoint, status 0, state=interrupted"
  [ "$(value snapshots_missing $name)" = 1-2 ] && [ "$(value table_bytes_unwritten $name)" -gt 1000 ]
  good=$? counts="$(value snapshots_missing $name), $(value table_bytes_unwritten $name)"
  ok $good "... and the status file counts what is missing: $counts"
  [ "$(grep -c 'warning: out/substeps.csv cannot be written: No space left on device; its rows are kept' "$name/err")" \
    = 1 ]
  ok $? "... each table that cannot be written is reported once"
  has "$name/err" 'warning: .*substeps.csv could not be written completely.*' &&
    has "$name/err" 'warning: rows are in the checkpoint, and the restart writes them'
  ok $? "... and where its rows are"
  has "$name/err" 'warning: 1 snapshot could not be written and is missing: 1 (time 0.03125)'
  ok $? "... a snapshot that is given up is named with its time"
  rm "$disk/filler"
  go $name $ranks "$@" -r
  ends 1 && reports $name state=finished && reports $name snapshots_missing=1 && ! grep -q unwritten "$name/out/status"
  ok $? "$ranks ranks: with room again the run finishes, with status 1"
  has "$name/err" 'error: 1 snapshot could not be written and is missing: 1 (time 0.03125)' &&
    has "$name/log" 'snapshot_002.hdf5 at time .* (late)'
  ok $? "... names the snapshot that is missing, and writes the pending one"
  check "... no row is missing" same_tables whole-$ranks $name
  go $name $ranks "$@" -r
  ends 1 && reports $name state=finished &&
    has "$name/err" 'error: out: snapshots could not be written and are missing: 1$'
  ok $? "... a further restart says so, too"
done
if [ -n "$disk" ]; then
  # the last snapshot, which a restart can write
  name=last
  rm -rf "${disk:?}"/*
  mkdir -p "$name" "$disk/out"
  ln -s "$disk/out" "$name/out"
  go $name 1 "$@" -n 7
  head -c 4000000 /dev/zero > "$disk/filler" 2> /dev/null
  go $name 1 "$@" -r
  ends 1 && reports $name state=failed && reports $name checkpoint=checkpoint_000008 &&
    reports $name snapshots_missing=4
  ok $? "the last snapshot cannot be written: state=failed, since a restart can write it"
  rm "$disk/filler"
  go $name 1 "$@" -r
  ends 0 && reports $name state=finished && ! grep -q snapshots_missing "$name/out/status" && same whole-1 $name
  ok $? "... which it does"
  # rows have their limit
  go $name 1 --overwrite "$@" -n 1
  head -c 4000000 /dev/zero > "$disk/filler" 2> /dev/null
  ESPALIER_DEBUG=table_bytes=100 && export ESPALIER_DEBUG
  go $name 1 "$@" -P Time:TimeMax=100 -r
  unset ESPALIER_DEBUG
  ends 0 && reports $name state=interrupted && has "$name/out/status" '^reason=tables cannot be written' &&
    [ ! -e "$name/out/cont" ]
  ok $? "rows that fill the memory for them: the run stops with a checkpoint, and no job is to follow"
  rm "$disk/filler"
fi

# --- the checkpoint at the end ---
mkdir end
: > end/file
go end 1 -P Checkpoints:CheckpointDir=file
ends 1 && reports end state=finished && reports end reason='the checkpoint at the end could not be written' &&
  has end/err 'error: the checkpoint at the end could not be written, and there is no other'
ok $? "the checkpoint at the end cannot be written, and there is no other: state=finished, status 1"
go end 1 --overwrite -n 3
mkdir -p end/out/checkpoints/checkpoint_000008.tmp/other
go end 1 -r
ends 1 && reports end state=failed &&
  reports end reason='the checkpoint at the end could not be written; a restart from checkpoint_000003 writes it'
ok $? "... there is one: state=failed, since a restart can write it"
rm -r end/out/checkpoints/checkpoint_000008.tmp
go end 1 -r
ends 0 && reports end state=finished && reports end checkpoint=checkpoint_000008
ok $? "... which it does"

# --- tables that are not as they were at the checkpoint ---
go table 1 -n 4
energy=table/out/energy.csv
cp -r table/out kept
# within soft step 4: without its row
bytes=$(sed -n 's/^logs.ends = \([0-9]*\) .*/\1/p' table/out/checkpoints/checkpoint_000004/manifest)
# damage WHAT COMMAND...: restart after the command; $text: the comment line in the table
damage() {
  shift
  rm -rf table/out
  cp -r kept table/out
  "$@"
  go table 1 -r
  [ $status != 0 ] || text=$(sed -n 's/^# restart in soft step 4: this table //p' "$energy")
}
zero_end() { head -c $((bytes - 300)) "$energy" > cut && head -c 300 /dev/zero >> cut && cp cut "$energy"; }
shorten() { head -c $((bytes - 300)) "$energy" > cut && cp cut "$energy"; }
change() { head -c $((bytes - 2)) "$energy" > cut && echo x >> cut && cp cut "$energy"; }
numbers() { grep -c '^[0-9]' "$energy"; }
go intact 1
damage intact true
ends 0 && [ -z "$text" ] && [ ! -s table/err ] && same_tables intact table
ok $? "tables that are as they were: nothing is said, no row is missing"
damage removed rm "$energy"
ends 0 && has table/err "warning: out/energy.csv is missing: of the $bytes bytes at the checkpoint 0 are left" &&
  [ "$(numbers)" = 5 ] &&
  [ "$text" \
  = "is missing: of the $bytes bytes at the checkpoint 0 are left, of which the first 0 or more are unchanged" ] &&
  has "$energy" '^time,'
ok $? "energy.csv removed: a warning with the numbers, a comment line, and a table with its header"
damage zeros zero_end
ends 0 &&
  has table/err "warning: out/energy.csv was changed: of the $bytes bytes at the checkpoint [1-9][0-9]* are left" &&
  [ -n "$text" ] && [ "$(tr -d '\0' < "$energy" | wc -c)" = "$(wc -c < "$energy")" ] && [ "$(numbers)" -lt 9 ] &&
    [ "$(numbers)" -gt 5 ]
ok $? "its last bytes zeroed, as after a power failure: the same, and no zero is left"
damage short shorten
ends 0 && has table/err \
  "warning: out/energy.csv is too short: of the $bytes bytes at the checkpoint [1-9][0-9]* are left" && [ -n "$text" ]
ok $? "a table that is too short"
damage changed change
ends 0 && has table/err "warning: out/energy.csv was changed: of the $bytes bytes at the checkpoint $bytes are left" &&
  [ -n "$text" ] && [ "$(numbers)" = 9 ] && has "$energy" 'x$'
ok $? "a table that was changed is kept, and reported"
[ -n "$text" ] && [ "$(echo "$text" | sed 's/.*the first \([0-9]*\) or more.*/\1/')" -gt $((bytes / 2)) ]
ok $? "... with the number of bytes that are certainly unchanged"
# of an older version, which had fewer columns, or others
fields() { grep -v '^#' "$energy" | awk -F, -v n="$1" 'NF != n { bad = 1 } END { exit bad || NR < 7 }'; }
shorter() { sed -E '/^#/!s/(,[^,]*){3}$//' "$energy" > cut && cp cut "$energy"; }
other() { sed '/^#/!s/^[^,]*,//' "$energy" > cut && cp cut "$energy"; }
columns=$(grep '^time,' "$energy" | awk -F, '{ print NF }')
damage older shorter
ends 0 && has table/err \
  "warning: out/energy.csv was begun by an older version, with $((columns - 3)) columns; the rows of this run" &&
  fields $((columns - 3)) && [ "$(numbers)" -ge 8 ]
ok $? "a table with fewer columns: the rows that follow have these"
check "... and the last lines of the run count them" has table/log '^kept: energy to [0-9.e-]*$'
damage older shorter
cp -r table/out table-more
rm -rf table/out
cp -r kept table/out
shorter
go table 1 -r -n 6
go table 1 -r
ends 0 && lacks table/err 'was changed\|too short' && grep -v '^#' "$energy" > one &&
  grep -v '^#' table-more/energy.csv | cmp - one
ok $? "... and a further restart knows the table again"
damage others other
aside=table/out/energy-before-step-4-1.csv
ends 0 "warning: out/energy.csv has other columns than this version writes; its rows are in" &&
  ends 0 "its rows are in out/energy-before-step-4-1.csv now" &&
  has "$aside" '^kinetic,' && [ "$(grep -c '^[-0-9]' "$aside")" -ge 3 ] && has "$energy" '^time,' &&
    [ "$(numbers)" = 5 ] &&
  [ "$(grep -v '^#' "$energy" | awk -F, -v n="$columns" 'NF != n' | wc -l)" = 0 ]
ok $? "a table with other columns is kept under another name, and a new one begins"
if command -v mkfifo > /dev/null; then
  fifo() { rm "$energy" && mkfifo "$energy"; }
  limit=20
  damage fifo fifo
  limit=
  check "a FIFO in place of a table is refused" ends 1 'error: out/energy.csv is not a regular file'
fi

# --- snapshots of a killed run with -n ---
for limit in 7 5; do go limit-$limit 1 -n $limit; done
for _ in 1 2 3; do
  r=
  [ ! -d killed/out ] || r=-r
  go killed 1 -n 7 $r --walltime 0
done
cp -r killed/out/checkpoints before
# as if it had been killed after its last snapshot but one
kill_it() {
  rm -rf killed/out/checkpoints
  cp -r before killed/out/checkpoints
  sed s/^state=.*/state=running/ killed/out/status > status && cp status killed/out/status
}
go killed 1 -n 7 -r
ends 0 && [ -e killed/out/snapshot_004.hdf5 ]
ok $? "a run with -n"
kill_it
rm killed/out/snapshot_004.hdf5
go killed 1 -n 7 -r
ends 0 && [ ! -e killed/out/discarded ] && same limit-7 killed
ok $? "... that was killed and is continued with the same -n: no snapshot is moved"
kill_it
go killed 1 -n 5 -r
ends 0 && [ "$(ls killed/out/discarded/00? | grep -c '^snapshot_00[34].hdf5$')" = 2 ] && same limit-5 killed
ok $? "... with a smaller -n: those beyond it are moved when the run ends"
finish
