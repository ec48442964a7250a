#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Plots of absent, empty, wrong, damaged and incomplete files: plots_input.py.
. "${srcdir:-.}/tests/harness.sh"
with_plots
mkdir files
"$python" "$src/tests/plots_input.py" "$src/tools" "$dir/files"
