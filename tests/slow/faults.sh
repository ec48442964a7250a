#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs on a disk that fails: calls of fault_shim.c under espalier return errors, write less than asked, or nothing;
# files are replaced by FIFOs, folders and locks vanish. No run crashes or hangs, each loss is told with exit status 1,
# all files with a good name can be read, and the last checkpoint goes on to the bits of a run without faults.
# ESPALIER_FAULTS: random trials (100); ESPALIER_FAULT_SEED (1); ESPALIER_FAULT_LANES: trials at a time (2);
# ESPALIER_FAULT_SECONDS:
# the limit for one run (180); ESPALIER_FAULT_ONLY: trials whose name begins so; ESPALIER_FAULT_KEEP=1: keep the folders
# of all trials.
. "${srcdir:-.}/tests/slow/common.sh"
# with h5py, if there is one
for python in "${PYTHON-python3}" /usr/bin/python3 python3; do "$python" -c 'import h5py' > /dev/null 2>&1 &&
  break; done
"$python" -c 'import sys' > /dev/null 2>&1 || skip_all "no python3"
[ "$(uname -s)" = Linux ] || skip_all "the shim is for Linux"
scratch faults
if ! ${CC:-cc} -O1 -shared -fPIC -o "$scratch_dir/shim.so" "$src/tests/slow/fault_shim.c" > "$scratch_dir/shim.log" \
  2>&1; then
  sed 's/^/# /' "$scratch_dir/shim.log"
  skip_all "the shim cannot be compiled"
fi
export OMP_NUM_THREADS=1 SOURCE_DATE_EPOCH=0 \
  OMPI_MCA_hwloc_base_binding_policy="${OMPI_MCA_hwloc_base_binding_policy:-none}" MPIRUN
export PYTHONPATH="$src/tests/slow" PYTHONDONTWRITEBYTECODE=1
"$python" "$src/tests/slow/faults.py" "$PWD/espalier" "$scratch_dir/shim.so" "$scratch_dir" || tap_failed=1
finish
