#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The pages in doc/tutorials are carried out: every block for the shell, in their order, with fewer particles and
# shorter times than in the pages, and their pictures are there. ESPALIER_TUTORIALS=whole takes the pages as they are.
. "${srcdir:-.}/tests/slow/common.sh"
here=$PWD
plan 11
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
tutorial star-cluster 's/-n 1024/-n 256/; s/^TimeMax = 2/TimeMax = 1/'
tutorial scaling 's/-n 16384/-n 2000/; s/--strong 20000/--strong 2000/; s/2,8,32,128/2,4/'
# the page for Python, as one script, with the package of the source tree and the library of this build
mkdir "$scratch_dir/python"
cd "$scratch_dir/python" || exit 99
awk '/^```/ { code = /^```python$/; next } code' "$src/doc/tutorials/python.md" > page.py
grep -q 'espalier.Simulation' page.py
result $? "python: the page has a script"
if [ -z "$ESPALIER_PLOTS" ]; then skip "python" "no python3 with h5py, numpy and matplotlib"; else
  PYTHONPATH=$src/python ESPALIER_LIB=$here/lib/libespalier.so PYTHONDONTWRITEBYTECODE=1
  export PYTHONPATH ESPALIER_LIB PYTHONDONTWRITEBYTECODE
  try 600 page.log "python: it works" "$ESPALIER_PLOTS" page.py
fi
cd "$scratch_dir" || exit 99
missing=$(for p in first-run/density.png first-run/energy.png first-run/analysis.png galaxies/model.png \
  galaxies/density.png galaxies/collision.gif \
  star-cluster/cluster.png scaling/let.png scaling/scaling.png; do [ -s "$p" ] || echo "$p"; done)
if [ -z "$ESPALIER_PLOTS" ]; then skip "pictures" "no python3 with h5py, numpy and matplotlib"; else
  [ -z "$missing" ]
  result $? "all pictures are there${missing:+, but $missing}"
fi
finish
