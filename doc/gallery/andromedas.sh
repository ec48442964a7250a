#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Two pictures of doc/gallery.md, andromedas.png and andromedas.mp4: two Andromeda galaxies of 4,194,304 particles each
# meet on a parabola, grow tails and merge, in 3.6 Gyr of block steps. For a GPU of 80 GB or more, some minutes; in the
# current folder; espalier (with CUDA), espalier-plot and ffmpeg in PATH. GALLERY=small: few particles, a short time,
# any backend, no movie.
set -e
here=$(cd "$(dirname "$0")" && pwd)
n=8388608 end=36 between=4.5 frames=0.125 pixels=512 backend=cuda
[ "${GALLERY:-}" != small ] || n=4000 end=0.125 between=0.0625 frames=0.0625 pixels=64 backend=auto
mkdir andromedas && cd andromedas
cat > orbit.ini << END
[Units]
UnitLength_in_cm = 3.085678e21
UnitMass_in_g = 1.989e41
UnitVelocity_in_cm_per_s = 9.777922e5
GravityConstantInternal = 4.4983315
[Orbit]
First = $here/../../params/models/m31.ini
Second = $here/../../params/models/m31.ini
Eccentricity = 1
Pericentre = 12
Separation = 150
Inclination1 = 15
Inclination2 = 60
END
espalier ic galaxy orbit.ini -n $n -o andromedas.hdf5
espalier run -q -P Input:InitCondFile=andromedas.hdf5 -P Output:OutputDir=output -P Output:SubstepLog=off \
  -P Output:TimeBetSnapshot=$between -P Output:Projections=on -P Output:TimeBetProjections=$frames \
  -P Output:ProjectionCentre=origin -P Output:ProjectionSize=120 -P Output:ProjectionPixels=$pixels \
  -P Output:ProjectionAxes=xy -P Time:TimeMax=$end -P Device:Backend=$backend \
  "$here/../../params/andromeda.ini"
espalier-plot density output --types 2,3 --width 200 -o ../andromedas.png
[ "${GALLERY:-}" = small ] || espalier-plot movie output --type 2 --width 200 -o ../andromedas.mp4
