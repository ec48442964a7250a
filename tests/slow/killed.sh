#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tests/killed.sh with twenty kills.
ESPALIER_KILLS=20
export ESPALIER_KILLS
exec sh "${srcdir:-.}/tests/killed.sh"
