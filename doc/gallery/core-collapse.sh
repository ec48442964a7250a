#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A picture of doc/gallery.md, core-collapse.png: a star cluster without softening whose heavy stars sink to the centre,
# until its core collapses. In the current folder; espalier and espalier-plot in PATH. GALLERY=small: few stars, a short
# time, for a test.
set -e
n=1024 end=40 between=0.5
[ "${GALLERY:-}" != small ] || n=128 end=2 between=0.5
mkdir core-collapse && cd core-collapse
espalier ic king --w0 6 -n $n --mass-function kroupa --mass-max 10 --virial-radius 1 --units henon \
  -o cluster.hdf5 > ic.log
cat > run.ini << END
[Input]
InitCondFile = cluster.hdf5
[Time]
TimeMax = $end
[Output]
TimeBetSnapshot = $between
[Gravity]
Softening = 0
MultipoleOrder = 2
[Split]
Mode = hybrid
EnergyError = 1e-6
[Steps]
Integrator = hermite
Eta = 0.05
END
espalier run -q run.ini
espalier-plot cluster output -o ../core-collapse.png
