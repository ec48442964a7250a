#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A picture of doc/gallery.md, matrix.png: bytes from rank to rank in a soft step of a galaxy on 64 ranks, counted
# without using so many processes. In the current folder; espalier in PATH. GALLERY=small: few particles and ranks, for
# a test.
set -e
here=$(cd "$(dirname "$0")" && pwd)
n=65536 ranks=64
[ "${GALLERY:-}" != small ] || n=2000 ranks=8
mkdir matrix && cd matrix
espalier ic plummer -n $n -o p.hdf5
cat > run.ini << END
[Input]
InitCondFile = p.hdf5
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = 1
[Gravity]
Softening = 0.0056
[Split]
Mode = hybrid
END
espalier study let --ranks $ranks --pairs pairs.csv run.ini
"$here/matrix.py" pairs.csv -o ../matrix.png
