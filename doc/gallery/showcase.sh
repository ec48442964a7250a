#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A picture of doc/gallery.md, showcase.png: seconds of a core against the true error of the energy, for the hybrid with
# Hermite steps, block steps and shared steps, in a star cluster (params/encounters.ini). In the current folder;
# espalier and true_energy in PATH (`make tests/true_energy`; PATH=tests:$PATH).
# GALLERY=small: few stars, a short time, for a test.
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir showcase && cd showcase
"$here/showcase.py" ${GALLERY:+--small} -o ../showcase.png --table ../showcase.csv
