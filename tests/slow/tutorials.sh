#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The pages in doc/tutorials and doc/start-from.md are carried out: every block for the shell, in their order, with
# fewer particles and shorter times than in the pages, and their pictures are there. ESPALIER_TUTORIALS=whole takes the
# pages as they are. ESPALIER_COSMIC: a python3 that has COSMIC, for the evolution of stars.
. "${srcdir:-.}/tests/slow/common.sh"
here=$PWD
plan 21
scratch tutorials
PATH=$here:$src/tools:$src/jobscripts:$PATH
export PATH MPLBACKEND=Agg MPLCONFIGDIR="$scratch_dir" OMP_NUM_THREADS=1
ESPALIER_PLOTS=$("$src/tools/espalier-plot" --find 2> /dev/null) || ESPALIER_PLOTS=

# blocks LANGUAGE NAME: what a page has for it
blocks() {
  page=$src/doc/tutorials/$2.md
  [ -e "$page" ] || page=$src/doc/$2.md
  awk -v language="$1" '/^```/ { code = $0 == "```" language; next } code' "$page"
}
# tutorial NAME SCRIPT: carry out a page, its blocks changed by sed SCRIPT
tutorial() {
  name=$1 script=$2
  mkdir -p "$scratch_dir/$name"
  cd "$scratch_dir/$name" || exit 99
  [ "${ESPALIER_TUTORIALS:-}" != whole ] || script=
  blocks sh "$name" | sed -E "$script" > page.sh
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
  blocks python "$1" | sed -E "$changes" > page.py
  grep -q 'espalier.Simulation' page.py
  result $? "$1: the page has a script"
  if [ -z "$ESPALIER_PLOTS" ]; then skip "$1" "no python3 with h5py, numpy and matplotlib"; return; fi
  try 600 page.log "$1: it works" env PYTHONPATH="$src/python" ESPALIER_LIB="$here/lib/libespalier.so" \
    PYTHONDONTWRITEBYTECODE=1 "$ESPALIER_PLOTS" page.py
}
script python ''
# COSMIC is an environment of its own; a page without it is skipped.
plots=$ESPALIER_PLOTS
ESPALIER_PLOTS=${ESPALIER_COSMIC:-$plots}
if [ -n "$ESPALIER_PLOTS" ] && "$ESPALIER_PLOTS" -c 'import cosmic, astropy, matplotlib' 2> /dev/null; then
  script stellar-evolution 's/= 2000, 100.0/= 300, 6.0/'
  lost=$(awk '/^mass lost/ && $3 > 0 { d = $3 / $NF - 1; print ($3 > 1 && d * d < 1e-12) }' page.log)
  [ "$lost" = 1 ] && [ -s evolution.png ]
  result $? "stellar-evolution: the stars lose what COSMIC says, and there is a picture"
else
  for what in "its script" "it works" "masses"; do
    skip "stellar-evolution: $what" "no python3 with COSMIC, astropy and matplotlib (ESPALIER_COSMIC)"
  done
fi
ESPALIER_PLOTS=$plots
script star-cluster 's/snapshot_040/snapshot_002/'
# The files that a reader of this page has: a galaxy, and stars as text in pc, km/s and solar masses.
mkdir "$scratch_dir/start-from"
cd "$scratch_dir/start-from" || exit 99
if [ -z "$ESPALIER_PLOTS" ]; then skip "start-from: its files" "no python3 with h5py, numpy and matplotlib"; else
  espalier ic galaxy "$src/params/models/milky-way.ini" -n 1000 -o galaxy.hdf5 > files.log 2>&1 &&
    espalier ic plummer -n 500 --half-mass-radius 1 --total-mass 500 -o stars.hdf5 >> files.log 2>&1 &&
    "$ESPALIER_PLOTS" -c 'import h5py, numpy as np
part = h5py.File("stars.hdf5")["PartType1"]
pos, vel, mass = part["Coordinates"][:], part["Velocities"][:] * 0.9778, part["Masses"][:]
np.savetxt("stars.txt", np.column_stack([pos, vel, mass]))' >> files.log 2>&1 && [ -s stars.txt ]
  result $? "start-from: its files"
fi
tutorial start-from \
  's/^TimeMax = 0.1 Gyr/TimeMax = 0.02 Gyr/; s/^TimeBetSnapshot = 0.05 Gyr/TimeBetSnapshot = 0.01 Gyr/'
script start-from 's/\b2000\b/500/g'
cd "$scratch_dir" || exit 99
missing=$(for p in first-run/density.png first-run/energy.png first-run/analysis.png galaxies/model.png \
  galaxies/density.png galaxies/collision.gif \
  star-cluster/binaries.png star-cluster/cluster.png star-cluster/group.gif star-cluster/group.png \
  scaling/let.png scaling/scaling.png start-from/galaxy.png start-from/cluster.png start-from/radii.png \
  start-from/arrays.png; do [ -s "$p" ] || echo "$p"; done)
if [ -z "$ESPALIER_PLOTS" ]; then skip "pictures" "no python3 with h5py, numpy and matplotlib"; else
  [ -z "$missing" ]
  result $? "all pictures are there${missing:+, but $missing}"
fi
finish
