#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Snapshots on a full disk of 2 MB, on one and on three ranks; a hang is a failure.
. "${srcdir:-.}/tests/harness.sh"
[ "${1-}" = inside ] || small_disk 2m full_disk.sh
for ranks in 1 3; do
  if [ -z "${2-}" ]; then skip "$ranks rank(s)" "a file system may not be mounted here"; continue; fi
  rm -rf "${2:?}"/*
  try timeout 60 $(starter $ranks) "$here/tests/full_disk" "$2"
  ok $status "full disk, $ranks rank(s): status $status"
done
finish
