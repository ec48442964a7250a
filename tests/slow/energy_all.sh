#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# slow/energy.sh with all models and numbers of ranks.
ESPALIER_ENERGY=all
export ESPALIER_ENERGY
exec sh "${srcdir:-.}/tests/slow/energy.sh"
