#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# packaging/amuse: the worker is built against the installed library, and passes the tests that AMUSE has for all
# gravitational codes and those of packaging/amuse/test_espalier.py. ESPALIER_AMUSE names a python3 whose environment
# has AMUSE (packaging/amuse/README.md).
. "${srcdir:-.}/tests/slow/common.sh"
here=$PWD
python=${ESPALIER_AMUSE:-python3}
"$python" -c 'import amuse.community.interface, amuse.test.suite, h5py, mpi4py, pytest' > /dev/null 2>&1 &&
  [ -x "$(dirname "$(command -v "$python")")/amusifier" ] ||
  skip_all "no python3 with amuse-framework, amuse-tests, mpi4py, pytest and h5py (ESPALIER_AMUSE names one)"
command -v pkg-config > /dev/null || skip_all "no pkg-config"
plan 9
scratch amuse
PATH=$(dirname "$(command -v "$python")"):$PATH
PKG_CONFIG="pkg-config --define-prefix" PKG_CONFIG_PATH=$scratch_dir/prefix/lib/pkgconfig
# Workers are spawned, for which MPI needs its daemon; processes that wait shall leave their core to the others.
unset OMPI_MCA_ess_singleton_isolated
export PATH PKG_CONFIG PKG_CONFIG_PATH OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1 \
  ESPALIER_PROGRAM="$here/espalier"
cd "$scratch_dir" || exit 99
try 120 install.log "the library is installed" "$MAKE" -C "$here" install prefix="$scratch_dir/prefix" || give_up
mkdir code && cp -r "$src/packaging/amuse/." code && chmod -R u+w code
try 120 build.log "the worker compiles without a warning" "$MAKE" -C code PYTHON="$python" \
  CFLAGS="-O2 -Wall -Wextra -Werror" || give_up
try 900 tests.log "tests of AMUSE, and those of this code" "$MAKE" -C code check PYTHON="$python"
grep -E '^E  |^FAILED|passed|failed' tests.log | sed 's/^/# /'
grep -q -E '[^0-9]*58 passed, 10 skipped' tests.log
result $? \
  "all of them ran but ten, whose reasons the test states: no reversed time, parameters of Hermite"
awk '/^```/ { code = /^```python$/; next } code' "$src/doc/amuse.md" > page.py
try 120 page.log "the script of the page" env PYTHONPATH=code "$python" page.py
for example in mergers galaxy masses; do
  try 200 $example.log "the example $example" env PYTHONPATH=code OMPI_MCA_rmaps_base_oversubscribe=1 "$python" \
    code/examples/$example.py
done
# where the package goes is found without what AMUSE prints
{ "$MAKE" -C code install PYTHON="$python" DESTDIR="$scratch_dir/site" &&
  cd "$(dirname "$(find "$scratch_dir/site" -type d -name amuse_espalier)")" && PYTHONPATH=. "$python" \
  -c 'from amuse_espalier import Espalier; code = Espalier(); print(code.parameters); code.stop()'; } \
  > "$scratch_dir/site.log" 2>&1
result $? "the installed package starts its worker"
cd "$scratch_dir" || exit 99
finish
