#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# slow/sanitizers.sh with all unit and MPI tests.
ESPALIER_SANITIZE=all
export ESPALIER_SANITIZE
exec sh "${srcdir:-.}/tests/slow/sanitizers.sh"
