#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tests/killed.sh with thirty kills.
ESPALIER_KILLS=30
export ESPALIER_KILLS
exec sh "${srcdir:-.}/tests/killed.sh"
