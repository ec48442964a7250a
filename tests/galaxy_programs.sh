#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Galaxy models against galpy and limepy, where they are installed (tests/galaxy_programs.py; PYTHON=... for another
# Python).
. "${srcdir:-.}/tests/harness.sh"
with_python numpy || skip_all "no numpy"
export OMP_NUM_THREADS=2
timeout 300 "$python" "$src/tests/galaxy_programs.py" espalier
