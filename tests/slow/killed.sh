#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tests/killed.sh with ten kills.
ESPALIER_KILLS=10
export ESPALIER_KILLS
exec sh "${srcdir:-.}/tests/killed.sh"
