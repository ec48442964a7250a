#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The pages in doc/tutorials are carried out: every block for the shell, in their order, with fewer particles and
# shorter times than in the pages, and their pictures are there. ESPALIER_TUTORIALS=whole takes the pages as they are.
. "${srcdir:-.}/tests/slow/common.sh"
here=$PWD
plan 13
scratch tutorials
PATH=$here:$src/tools:$src/jobscripts:$PATH
export PATH MPLBACKEND=Agg MPLCONFIGDIR="$scratch_dir" OMP_NUM_THREADS=1
ESPALIER_PLOTS=$("$src/tools/espalier-plot" --find 2> /dev/null) || ESPALIER_PLOTS=

# tutorial NAME SCRIPT: carry out a page, its blocks changed by sed SCRIPT
tutorial() {
  name=$1 script=$2
  mkdir "$scratch_dir/$name"
  cd "$scratch_dir/$name" || exit 99
  [ "${ESPALIER_TUTORIALS:-}" != whole ] || script=
  awk '/^```/ { code = /^```sh$/; next } code' "$src/doc/tutorials/$name.md" | sed -E "$script" > page.sh
  grep -q espalier page.sh
  result $? "$name: the page has commands"
  if [ -z "$ESPALIER_PLOTS" ]; then skip "$name" "no python3 with h5py, numpy and matplotlib"; return; fi
  try 1200 page.log "$name: its commands work" sh -e page.sh
}
tutorial \
  first-run \
  's/-n 10000/-n 2000/; s/^TimeMax = 2/TimeMax = 1/; s/^TimeBetSnapshot = 0.5/TimeBetSnapshot = 0.25/
    s/TimeMax=2.5/TimeMax=1.1/'
tutorial galaxies \
  's/^N = ([0-9]+)0$/N = \1/; s/^TimeMax = .*/TimeMax = 0.04/; s/^TimeBetSnapshot = .*/TimeBetSnapshot = 0.02/
    s/^TimeBetProjections = .*/TimeBetProjections = 0.01/'
tutorial star-cluster \
  's/-n 4096/-n 256/; s/^TimeMax = 10/TimeMax = 0.5/; s/snapshot_040/snapshot_002/; s/TimeMax=10.5/TimeMax=0.52/'
tutorial scaling 's/-n 16384/-n 2000/; s/--strong 20000/--strong 2000/; s/2,8,32,128/2,4/'
# script NAME SCRIPT: what a page has for Python, as one script, with the package of the source tree and the library of
# this build
script() {
  mkdir -p "$scratch_dir/$1"
  cd "$scratch_dir/$1" || exit 99
  changes=$2
  [ "${ESPALIER_TUTORIALS:-}" != whole ] || changes=
  awk '/^```/ { code = /^```python$/; next } code' "$src/doc/tutorials/$1.md" | sed -E "$changes" > page.py
  grep -q 'espalier.Simulation' page.py
  result $? "$1: the page has a script"
  if [ -z "$ESPALIER_PLOTS" ]; then skip "$1" "no python3 with h5py, numpy and matplotlib"; return; fi
  try 600 page.log "$1: it works" env PYTHONPATH="$src/python" ESPALIER_LIB="$here/lib/libespalier.so" \
    PYTHONDONTWRITEBYTECODE=1 "$ESPALIER_PLOTS" page.py
}
script python ''
script star-cluster 's/snapshot_040/snapshot_002/'
cd "$scratch_dir" || exit 99
missing=$(for p in first-run/density.png first-run/energy.png first-run/analysis.png galaxies/model.png \
  galaxies/density.png galaxies/collision.gif \
  star-cluster/binaries.png star-cluster/cluster.png star-cluster/group.gif star-cluster/group.png \
  scaling/let.png scaling/scaling.png; do [ -s "$p" ] || echo "$p"; done)
if [ -z "$ESPALIER_PLOTS" ]; then skip "pictures" "no python3 with h5py, numpy and matplotlib"; else
  [ -z "$missing" ]
  result $? "all pictures are there${missing:+, but $missing}"
fi
finish
