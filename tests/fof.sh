#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Catalogues of friends-of-friends groups: of a run, of a restart, of the command, on several ranks; their fields; bad
# input.
. "${srcdir:-.}/tests/harness.sh"
parts_model 1500
with_python "h5py, numpy"
set -- -P Output:Groups=on -P Output:GroupMinSize=8
# groups RANKS ARGUMENT...: the command
groups() {
  on=$1
  shift
  limit=60 launch "$on" groups "$@"
}
catalogues() { (cd "$1/out" && ls fof_*.hdf5 2> /dev/null | tr '\n' ' '); }

# --- runs ---
go straight 2 "$@"
ends 0 && [ "$(catalogues straight)" = "fof_000.hdf5 fof_001.hdf5 fof_002.hdf5 fof_003.hdf5 fof_004.hdf5 " ]
ok $? "a run with Groups = on: a catalogue for each snapshot"
words='^catalogue out/fof_00.\.hdf5: [1-9][0-9]* groups* of 8 particles and more, with [1-9][0-9]* of 1500 particles;'
[ "$(count straight/log "$words linking length 0\.[0-9]* (.* s)\$")" = 5 ]
ok $? "... the log names them, what is in them and their seconds"
columns straight/out/timers.csv fof | awk '{ s += $1 } END { exit !(s > 0) }'
ok $? "... and timers.csv has their phase"
go parts 2 -n 3 "$@"
go parts 2 -r "$@"
bad=$status
for k in 0 1 2 3 4; do cmp "straight/out/fof_00$k.hdf5" "parts/out/fof_00$k.hdf5" || bad=1; done
same straight parts || bad=1
ok $bad "interrupted, and gone on with: the same catalogues, snapshots and tables"
go without 2
[ "$(catalogues without)" = "" ] && same_rows without/out/energy.csv straight/out/energy.csv
ok $? "without Groups: no catalogue, the same energies"

# --- the command ---
shown="said err"
for ranks in 1 3 5; do
  bad=0
  for k in 0 4; do
    try groups $ranks --min-size 8 -o again.hdf5 --overwrite "straight/out/snapshot_00$k.hdf5" &&
      cmp again.hdf5 "straight/out/fof_00$k.hdf5" || bad=1
  done
  ok $bad "espalier groups on $ranks ranks: the same catalogue as the run's, byte by byte"
done
cp straight/out/snapshot_003.hdf5 straight/out/snapshot_004.hdf5 .
try groups 2 --min-size 8 snapshot_003.hdf5 snapshot_004.hdf5 && cmp fof_003.hdf5 straight/out/fof_003.hdf5 &&
  cmp fof_004.hdf5 straight/out/fof_004.hdf5
ok $? "two snapshots: catalogues beside them, by number"
awk 'BEGIN { for (i = 0; i < 60; i++) print i % 30 * 0.9 + (i < 30 ? 0 : 500), 0, 0, 0, 0, 0, 1 }' > chains.txt
check "an ASCII file: groups that are too small" says 0 \
  '^catalogue fof_chains.txt.hdf5: 0 groups of 32 particles and more, with 0 of 60 particles; linking length 1 ' -- \
  groups 5 --linking-length 1 chains.txt
check "... and across all ranks" says 0 ': 2 groups of 30 particles and more, with 60 of 60 particles' -- \
  groups 5 --linking-length 1 --min-size 30 --overwrite chains.txt
check "... one group" says 0 ': 1 group of 32 particles and more, with 60 of 60 particles' -- \
  groups 5 --linking-length 1e3 --overwrite chains.txt

# --- fields ---
# fields TEXT SNAPSHOT CATALOGUE TYPES
fields() {
  text=$1
  shift
  if [ -n "$python" ]; then
    try judge catalogue "$@"
    ok $? "$text $(cat said)"
  else
    echo "# SKIP $text: no python3 with h5py and numpy"
  fi
}
fields "fields of a run's catalogue:" straight/out/snapshot_004.hdf5 straight/out/fof_004.hdf5 0,1,2,3,4,5
if [ -n "$python" ]; then
  judge make_types types_007.hdf5
  check "a file of several types, without potentials" \
    try groups 3 --link-types 1 --linking-length 0.06 --min-size 5 types_007.hdf5
  fields "... its fields, one type links:" types_007.hdf5 fof_007.hdf5 1
  groups 2 --link-types 4,5 --min-size 5 --overwrite types_007.hdf5
  fields "... two types link, the length by rule:" types_007.hdf5 fof_007.hdf5 4,5
  "$python" -c 'import h5py; h5py.File("snapshot_003.hdf5", "r+")["PartType1/Potential"][7] *= 2'
  check "a snapshot with a damaged potential is refused" says 1 \
    'snapshot_003.hdf5: the values of /PartType1/Potential differ from those that were written (checksum)' -- \
    groups 2 --overwrite snapshot_003.hdf5
fi

# --- a catalogue that cannot be written; removal ---
go blocked 2 -n 3 "$@"
mkdir blocked/out/fof_003.hdf5
go blocked 2 -r "$@"
words='warning: the run continues without this catalogue, .*: catalogue out/fof_003.hdf5: something of this name exists'
ends 0 && [ "$(count blocked/err "$words")" = 1 ] && [ -f blocked/out/fof_004.hdf5 ] &&
  [ ! -e blocked/out/fof_003.hdf5.tmp ]
ok $? "a catalogue that cannot be written: a warning, and the run goes on"
go later 1 -n 3 "$@"
go later 1 -n 7 -r "$@"
cp later/out/fof_002.hdf5 kept.hdf5
go later 1 -n 4 -r 3 "$@"
ends 0 && find later/out/discarded -name 'fof_003.hdf5' | grep -q . && [ ! -e later/out/fof_003.hdf5 ] &&
  cmp kept.hdf5 later/out/fof_002.hdf5
ok $? "snapshots that a restart moves away: their catalogues go with them"
go later 1 --overwrite -n 1
ends 0 && [ "$(catalogues later)" = "" ]
ok $? "--overwrite removes catalogues with their snapshots"

# --- bad input ---
refuses() { refused "$1" -P Output:Groups=on -P "$2"; }
refuses "GroupLinkTypes = 1;2 (-P): expected all, or types from 0 to 5 with commas between them" \
  'Output:GroupLinkTypes=1;2'
refuses "GroupLinkTypes = 6 (-P): expected all" Output:GroupLinkTypes=6
refuses "LinkingLength.*expected.*found '-1'" Output:LinkingLength=-1
refuses "GroupMinSize.*expected.*found '0'" Output:GroupMinSize=0
refuses "Groups.*expected.*found 'yes'" Output:Groups=yes
refuses "SnapshotFileBase = fof (-P) and Groups = on (-P): expected another name" Output:SnapshotFileBase=fof
# misuse STATUS TEXT ARGUMENT...: this status and text
misuse() {
  wanted=$1 words=$2
  shift 2
  check "groups $*: $words" says "$wanted" "$words" -- groups 0 "$@"
}
shown="said err"
misuse 2 'a snapshot is missing'
misuse 2 "option --min-size: expected a whole number of particles from 1 to 1e9, found '0'" --min-size 0 chains.txt
misuse 2 "option --linking-length: expected a length from 0 (by rule) to 1e+150, found '-1'" --linking-length -1 \
  chains.txt
misuse 2 "option --link-types: expected all, or types from 0 to 5 with commas between them, found '1,'" --link-types \
  1, chains.txt
misuse 2 'option -o: only with one snapshot, found 2' -o x.hdf5 chains.txt chains.txt
misuse 1 'absent.hdf5: No such file or directory' absent.hdf5
misuse 1 'fof_chains.txt.hdf5: already exists; give another name with -o, or --overwrite' chains.txt
misuse 1 'chains.txt: is the input; give another name' -o chains.txt --overwrite chains.txt
misuse 1 'parts: expected a file name, found a folder' -o parts --overwrite chains.txt
misuse 1 'catalogue nowhere/x.hdf5: nowhere: No such file or directory' -o nowhere/x.hdf5 chains.txt
misuse 1 'fof_004.hdf5: /Header has no attribute NumPart_ThisFile' -o x.hdf5 fof_004.hdf5
printf '1e200 0 0 0 0 0 1\n0 0 0 0 0 0 1\n' > far.txt
misuse 1 'far.txt: the particle with id 1 has a coordinate or velocity above 1e+150' far.txt
finish
