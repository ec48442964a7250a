#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Snapshots on a full disk of 2 MB, on one and on three ranks; a hang is a failure.
set -u
mpirun="${MPIRUN:-mpirun --oversubscribe} ${MPIRUN_FLAGS-}"
folder=$(mktemp -d) || exit 99
session=$(mktemp -d) || exit 99   # in a namespace of its own the launcher may not write into the usual folder of user 0
trap 'rmdir "$folder"; rm -rf "$session"' EXIT
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
inside="mount -t tmpfs -o size=2m espalier-test $folder"
unshare=
for try in "unshare -m" "unshare -rm"; do
  if $try sh -c "$inside" 2>/dev/null; then unshare=$try; break; fi
done
echo 1..2
test=0
for ranks in 1 3; do
  test=$((test + 1))
  if [ -z "$unshare" ]; then
    echo "ok $test - $ranks rank(s) # SKIP a file system may not be mounted here"
    continue
  fi
  $unshare sh -c "$inside && TMPDIR=$session timeout 60 $mpirun -n $ranks ./tests/full_disk $folder" >"$folder.log" 2>&1
  status=$?
  sed 's/^/# /' "$folder.log"
  rm -f "$folder.log"
  if [ $status -eq 0 ]; then echo "ok $test - full disk, $ranks rank(s)"
  else echo "not ok $test - full disk, $ranks rank(s): status $status"; fi
done
