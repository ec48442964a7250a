#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Plots of absent, empty, wrong, damaged and incomplete files: plots_input.py.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
src=${srcdir:-.}
if ! python=$("$src/tools/espalier-plot" --find 2> /dev/null); then
  echo "1..0 # SKIP no python3 with h5py, numpy and matplotlib"
  exit 0
fi
mkdir "$dir/files"
PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR="$dir" "$python" "$src/tests/plots_input.py" "$src/tools" "$dir/files"
