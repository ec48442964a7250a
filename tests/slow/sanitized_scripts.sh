#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tests by script of slow/sanitizers.sh, in the build of sanitized_units.sh.
ESPALIER_SANITIZE=scripts
export ESPALIER_SANITIZE
exec sh "${srcdir:-.}/tests/slow/sanitizers.sh"
