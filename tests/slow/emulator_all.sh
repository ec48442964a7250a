#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# slow/emulator.sh with AddressSanitizer.
ESPALIER_SANITIZE=all
export ESPALIER_SANITIZE
exec sh "${srcdir:-.}/tests/slow/emulator.sh"
