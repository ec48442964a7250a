#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A picture of doc/gallery.md, m31.png: the disc and bulge of the Andromeda galaxy after 300 million years, of a model
# of 8,388,608 particles.
# For a GPU of 80 GB or more; in the current folder; espalier (with CUDA) and espalier-plot in PATH. GALLERY=small: few
# particles, any backend.
set -e
here=$(cd "$(dirname "$0")" && pwd)
n=8388608 end=3 backend=cuda
[ "${GALLERY:-}" != small ] || n=4000 end=0.0625 backend=auto
mkdir m31 && cd m31
espalier ic galaxy "$here/../../params/models/m31.ini" -n $n -o m31.hdf5
espalier run -q -P Input:InitCondFile=m31.hdf5 -P Output:OutputDir=output -P Output:SubstepLog=off \
  -P Output:TimeBetSnapshot=$end \
  -P Time:TimeMax=$end -P Device:Backend=$backend "$here/../../params/andromeda.ini"
espalier-plot density output --types 2,3 --width 60 -o ../m31.png
