#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A picture of doc/gallery.md, collision.png: two disc galaxies pass each other, grow tails and come back. In the
# current folder; espalier and espalier-plot in PATH. GALLERY=small: few particles, a short time, for a test.
set -e
n=1 end=0.9 between=0.15
[ "${GALLERY:-}" != small ] || n=40 end=0.04 between=0.02
mkdir collision && cd collision
cat > galaxy.ini << END
[Units]
UnitLength_in_cm = 3.085678e21
UnitMass_in_g = 1.989e43
UnitVelocity_in_cm_per_s = 1e5
[halo]
Profile = hernquist
Mass = 60
Scale = 20
Cutoff = 80
N = $((6000 / n))
[disc]
Profile = exponential-disc
Mass = 5
Scale = 3
Height = 0.4
ToomreQ = 1.5
Cutoff = 20
N = $((8000 / n))
[bulge]
Profile = hernquist
Mass = 1
Scale = 0.7
Cutoff = 5
N = $((1000 / n))
Type = 3
END
cat > orbit.ini << END
[Units]
UnitLength_in_cm = 3.085678e21
UnitMass_in_g = 1.989e43
UnitVelocity_in_cm_per_s = 1e5
[Orbit]
First = galaxy.ini
Second = galaxy.ini
Eccentricity = 1
Pericentre = 8
Separation = 60
Inclination1 = 0
Inclination2 = 60
END
espalier ic galaxy orbit.ini -o collision.hdf5
cat > run.ini << END
[Input]
InitCondFile = collision.hdf5
[Gravity]
Softening = 0.3
SofteningDisk = 0.2
SofteningBulge = 0.2
[Accuracy]
Accuracy = coarse
[Time]
TimeMax = $end
[Output]
TimeBetSnapshot = $between
END
espalier run -q run.ini
espalier-plot density output --types 2,3 --pixels 200 -o ../collision.png
