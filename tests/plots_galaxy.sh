#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier-plot rotation, disc and modes: their numbers against formulas, and against a script that shares no code with
# them (tests/plots_galaxy.py); pictures in which nothing lies over anything else; discs turned face-on in maps and
# movies; a sentence for bad input.
. "${srcdir:-.}/tests/harness.sh"
with_plots
cat > galaxy.ini << END
[halo]
Profile = hernquist
Mass = 25
Scale = 20
Cutoff = 60
N = 3000
[disc]
Profile = exponential-disc
Mass = 6
Scale = 3
Height = 0.5
ToomreQ = 1.2
Cutoff = 18
N = 12000
[Units]
UnitLength_in_cm = 3.085678e21
UnitMass_in_g = 1.989e43
UnitVelocity_in_cm_per_s = 1e5
END
model galaxy galaxy.ini -o galaxy.hdf5
check "snapshots of galaxies" script "$src/tests/plots_galaxy.py" make . galaxy.hdf5
rings='--radius 12 --rings 12 --type 2'
draws "a disc at two times" disc known_000.hdf5 known_001.hdf5 $rings --table known_disc.csv
has said '^text scale height$' && has said '^axes 6$' && has said '^text time 488.9 Myr$'
ok $? "... in six panels"
draws "modes at two times" modes known_000.hdf5 known_001.hdf5 $rings --within 4 --table known_modes.csv
has said '^text pattern speed of \$m = 2\$$' && has said '^text pattern speed \[km/s/kpc\]$' && has said '^axes 3$'
ok $? "... with the pattern speed"
draws "a disc" disc model_000.hdf5 $rings --table model_disc.csv
has said "^text Toomre's Q\$" && has said '^axes 4$'
ok $? "... in four panels"
plots modes model_000.hdf5 model_001.hdf5 $rings --within 4 --table model_modes.csv
ok $? "modes of a model"
try "$python" "$src/tests/plots_galaxy.py" judge .
count=$(count said '^\(not \)\{0,1\}ok')
sed -n 's/^ok [0-9]* - /# /p' said
[ "$status" = 0 ] && [ "$count" -ge 20 ]
ok $? "$count numbers are right to 1 %"

if [ -e "$here/lib/libespalier.so" ] && ! ldd "$here/lib/libespalier.so" 2> /dev/null | grep -q libasan; then
  check "Python has the same circular velocity, by the softening of the file" env PYTHONPATH="$src/python" \
    ESPALIER_LIB="$here/lib/libespalier.so" "$python" - model_000.hdf5 model_disc.csv << 'END'
import sys
import numpy as np
import espalier
snap, found = espalier.read(sys.argv[1]), espalier.table(sys.argv[2])
rings = snap.disc(2).rings(edges=np.linspace(0, 12, 13))
mine, factor = rings["v_c"][np.isfinite(rings["R"])], snap.parameters["UnitVelocity_in_cm_per_s"] / 1e5
print(snap.softenings, mine / found["v_c"] - 1)
assert (snap.softenings == 0.4).all() and np.allclose(mine * factor, found["v_c"], rtol=1e-4)
assert found.quantity("time", "Myr")[0].unit == "Myr" and found.parameters["GravityConstantInternal"] > 4e4
END
else
  skip "circular velocity in Python" "no library that Python can load"
fi

draws "a rotation curve" rotation known_000.hdf5
has said '^text 2 (disk), \$N\$ = 24,000$' && has said '^text \$v_c\$ of one type$' &&
  has said '^text velocity \[km/s\]$'
ok $? "... with a name for each component"
draws "rotation at two times" rotation model_000.hdf5 model_001.hdf5 --types 1,2
has said '^text mean \$v_\\varphi\$ of type 1 (halo)$' && has said '^axes 3$' && has said '^text time 488.9 Myr$'
ok $? "... a panel for each type, and one for the circular velocity"
draws "modes at one time" modes model_000.hdf5
has said '^axes 1$' && has said 'need two snapshots or more$'
ok $? "... in one panel, and what two snapshots are needed for"
for format in gadget1:2 gadget2:2 tipsy:4; do
  plots rotation "${format%:*}" --radius 12 --rings 12 --types "${format#*:}" --gravity 43007.1 --softening 0.4 \
    --table format.csv && script "$src/tests/plots_galaxy.py" same model_disc.csv format.csv
  ok $? "a file of ${format%:*} has the same disc"
done
plots modes galaxy.hdf5 && has said 'less than 4 times the noise of [0-9.]*: no pattern speed$'
ok $? "no pattern speed of a round disc"
plots rotation units_000.hdf5 --gravity 43007.1 && has said '^softening of the forces: [0-9.]*, 2 % of the disc'
ok $? "files without units and softening"
draws "a map of a disc face-on and edge-on" map known_000.hdf5 --types 2 --face-on 2
draws "a picture of a movie, face-on" movie known_000.hdf5 --face-on 2 --type 2
check "the disc is flat there, the frame at its centre" \
  script "$src/tests/plots_galaxy.py" turned "$src/tools" known_000.hdf5

# a galaxy with a bulge: the centre is that of the stars, to a tenth of the innermost ring
model galaxy "$src/params/models/m31.ini" -n 20000 -o m31.hdf5
moved="$src/tests/plots_galaxy.py"
check "a galaxy somewhere else" script "$moved" moved m31.hdf5 moved.hdf5
for kind in rotation disc modes; do
  plots $kind moved.hdf5 && cp said words && script "$moved" centre words 0.12
  ok $? "$kind: $(cat said)"
done
for centre in type:3 -70.03,30.02,11.01 ids:19000,19001; do
  plots rotation moved.hdf5 --centre=$centre --table moved.csv && cp said words &&
    case $centre in ids*) ! script "$moved" centre words 0.12 ;; *) script "$moved" centre words 0.12 ;; esac
  ok $? "--centre $centre: $(cat said)"
done
plots rotation moved.hdf5 --follow type:3 && cp said words && script "$moved" centre words 0.12
ok $? "--follow type:3: $(cat said)"
refuses_plot "expected all, type:T, ids:ID,ID... or x,y,z, found 'group:1'" rotation moved.hdf5 --centre group:1
refuses_plot 'has no particle 99999: expected ids of its particles' rotation moved.hdf5 --centre ids:99999
refuses_plot 'has no particles with mass of type 4 (it has type 1, 2)' rotation known_000.hdf5 --type 4
refuses_plot 'has no particles with mass of type 3 (it has type 1, 2)' disc known_000.hdf5 --types 2,3
refuses_plot 'has no disc of type 1: the type does not rotate: its angular momenta add up to' disc sphere_000.hdf5
refuses_plot 'too few for the plane of a disc' modes sphere_000.hdf5 --type 3
refuses_plot 'states neither GravityConstantInternal nor units: --gravity gives' rotation units_000.hdf5
refuses_plot 'still_000.hdf5 has no velocities for all particles' modes still_000.hdf5
refuses_plot 'have the same time' modes known_000.hdf5 model_000.hdf5
refuses_plot 'every type has too few particles for rings' disc known_000.hdf5 --radius 0.001
refuses_plot 'leave --types out' disc known_000.hdf5 known_001.hdf5 --types 2
refuses_plot '--rings must be 4 to 1000' rotation known_000.hdf5 --rings 2
refuses_plot '--follow ids is for few stars' modes known_000.hdf5 --follow ids:1
refuses_plot 'has no particles of type 5, which --face-on needs' map known_000.hdf5 --face-on 5 --follow all
refuses_plot 'type 1 does not rotate' movie sphere_000.hdf5 --face-on 1
finish
