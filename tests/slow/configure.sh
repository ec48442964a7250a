#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What configure is told to use and cannot is refused with a sentence: it never builds with another library than was
# asked for.
. "${srcdir:-.}/tests/slow/common.sh"
plan 5
scratch configure
cd "$scratch_dir" || exit 99
mkdir empty

# refused TEXT SENTENCE ARGUMENT...
refused() {
  text=$1 sentence=$2
  shift 2
  timeout 120 "$src/configure" --without-cuda "$@" > refused.log 2>&1 < /dev/null
  status=$?
  [ $status -ne 0 ] && [ $status -ne 124 ] && grep -q -e "^configure: error: $sentence" refused.log
  result $? "$text"
  tail -n 3 refused.log | sed 's/^/# /'
}
refused "an HDF5 folder that is not there" "--with-hdf5=$PWD/absent: no parallel HDF5" "--with-hdf5=$PWD/absent"
refused "an HDF5 folder without HDF5" "--with-hdf5=$PWD/empty: no parallel HDF5" "--with-hdf5=$PWD/empty"
refused "no HDF5 at all" "Espalier needs a parallel HDF5" --without-hdf5
refused "a CUDA folder without nvcc" "--with-cuda was given" "--with-cuda=$PWD/empty"
h5pcc=$(command -v h5pcc.openmpi || command -v h5pcc)
if [ -n "$h5pcc" ]; then
  try 120 h5pcc.log "an h5pcc by name" "$src/configure" -q --without-cuda --with-hdf5="$h5pcc"
else
  skip "an h5pcc by name" "there is none"
fi
finish
