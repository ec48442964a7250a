#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Galaxy models against galpy and limepy, where they are installed (tests/galaxy_programs.py; PYTHON=... for another Python).
. "${srcdir:-.}/tests/harness.sh"
with_python numpy
if [ -z "$python" ]; then
  echo "1..0 # SKIP no numpy"
  exit 0
fi
export OMP_NUM_THREADS=2
timeout 300 "$python" "$src/tests/galaxy_programs.py" espalier
