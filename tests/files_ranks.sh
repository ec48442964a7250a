#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tests of files on other numbers of ranks than the usual one.
set -u
mpirun="${MPIRUN:-mpirun --oversubscribe} ${MPIRUN_FLAGS-}"
log=$(mktemp) || exit 99
trap 'rm -f "$log"' EXIT
echo 1..9
test=0
for name in formats snapshot bad_input; do
  for ranks in 1 2 7; do
    test=$((test + 1))
    timeout 60 $mpirun -n $ranks ./tests/$name.mpi >"$log" 2>&1
    status=$?
    if [ $status -eq 0 ]; then
      echo "ok $test - $name on $ranks rank(s)"
    else
      grep -v '^ok' "$log" | sed 's/^/# /'
      echo "not ok $test - $name on $ranks rank(s): status $status"
    fi
  done
done
