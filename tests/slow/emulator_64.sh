#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# slow/emulator.sh with warps of 64 lanes, as AMD's devices have them.
LANES=64
export LANES
exec sh "${srcdir:-.}/tests/slow/emulator.sh"
