#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The check of the system before a run: what run --check prints and a start warns of, and what needs --force.
. "${srcdir:-.}/tests/harness.sh"
# 2000 particles in a ball of radius 1 at rest, total mass 1; awk's numbers are the same everywhere
ball() {
  awk -v v="$1" 'BEGIN { s = 1
    while (n < 2000) {
      for (k = 0; k < 3; k++) { s = (s * 16807) % 2147483647; x[k] = 2 * s / 2147483647 - 1 }
      if (x[0] ^ 2 + x[1] ^ 2 + x[2] ^ 2 > 1) continue
      printf "%.17g %.17g %.17g %.17g %.17g %.17g 0.0005\n", x[0], x[1], x[2], v - 0.5 * x[1], 0.5 * x[0], 0.3 * x[2]
      n++
    } }'
}
ball 0 > ball.txt
ball 1000000 > fast.txt
parameters run.ini Input:InitCondFile=ball.txt Time:TimeMax=0.25 Gravity:Softening=0.02 Device:Backend=cpu
parameters default.ini Input:InitCondFile=ball.txt Time:TimeMax=0.25 Device:Backend=cpu
ini=run.ini
run() {
  rm -rf output
  try espalier run "$@" $ini
}
# warns WORDS: one warning, which has these words
warns() { [ "$(cat said err | grep -c 'warning: ')" = 1 ] && cat said err | grep -q "warning: .*$1"; }

run --check
[ $status = 0 ] && ! cat said err | grep -q warning && has said '^size .* are within 0\.[78]' &&
  has said '^ *the softening is 0\.[0-9]* of the median' &&
  has said '^velocities  *dispersion 0\.[34]' && has said '^times  *dynamical time' && has said '^soft steps  *of' &&
    has said '^substeps  *about' &&
  has said '^seconds .* for a soft step (measured)' && has said '^memory .* measured in the first soft step$' &&
    [ ! -e output ]
ok $? "--check of an ordinary system: its numbers, no warning, no file"
awk '/^energy error  *.*: [0-9.e-]* by time steps,$/ { found++ } /^ *at most [0-9.e-]* by forces/ { found++ }
  END { exit found != 2 }' said
ok $? "errors that are predicted"
for what in "Steps:Eta=4 the steps that are given change" \
  "Gravity:ErrTolForceAcc=0.9 forces with ErrTolForceAcc = 0.9 may change"; do
  run --check -P Split:Mode=tree -P Steps:Scheme=block -P "${what%% *}"
  [ $status = 0 ] && has said "^warning: ${what#* } the energy by [0-9.e-]* within ten dynamical times"
  ok $? "a warning for ${what%% *}"
done
run --check -P Steps:Eta=4
[ $status = 0 ] && has said '^warning: no scheme has the wanted accuracy: |dE/E| of [0-9.e-]* is predicted'
ok $? "... as the run says it, where a scheme is chosen"
awk '/\(chosen\)/ { each = $(NF - 1) } / s for the run/ { whole = $1 }
  END { print "# ", each, whole; exit !(each > 0 && whole > 0.98 * each * end && whole < 1.02 * each * end) }' \
    end="$(awk '/^TimeMax/ { print $3 }' $ini)" said
ok $? "one time of the run: the choice's seconds per unit of time"
run -n 1
[ $status = 0 ] && ! cat said err | grep -q warning
ok $? "its start says nothing of it"
ESPALIER_DEBUG=check_seconds=0
export ESPALIER_DEBUG
run --check
unset ESPALIER_DEBUG
[ $status = 0 ] && has said '^seconds .* for a soft step (predicted)' && has said '^memory  *about .*, estimated:$'
ok $? "without a soft step: seconds and memory are predicted"
ESPALIER_DEBUG=check_load=3
export ESPALIER_DEBUG
run --check
unset ESPALIER_DEBUG
[ $status = 0 ] && has said 'of processor time: other programs have these processors too' &&
  has said '^  *takes 3.0 times as long at present$'
ok $? "a busy machine: seconds are those of the processor, and it says so"

for how in --check "-n 1"; do
  run $how -P Gravity:Softening=400
  [ $status = 1 ] && has err 'error: Softening = 400 is larger than the system, .*; --force starts it all the same$' &&
    [ ! -e output ]
  ok $? "$how: a softening larger than the system is refused, and nothing is left behind"
  run $how --force -P Gravity:Softening=400
  [ $status = 0 ] && warns 'Softening = 400 is larger than the system'
  ok $? "$how --force: a warning"
  run $how -P Gravity:Softening=0.3
  [ $status = 0 ] && warns 'Softening = 0.3 is 0.3[0-9]* of the radius .*; set \[Gravity\] Softening to about'
  ok $? "$how: a large softening"
  run $how -P Time:TimeMax=1000 -P Units:GravityConstantInternal=0 -P Units:UnitMass_in_g=4.6232e38 \
    -P Gravity:Softening=0.02
  [ $status = 0 ] && warns 'lasts 978 Gyr, 70.[0-9]* times the age of the universe'
  ok $? "$how: a TimeMax of 978 Gyr"
  ini=default.ini
  run $how -P Units:GravityConstantInternal=0 -P Units:UnitMass_in_g=4.6232e38
  [ $status = 0 ] && warns 'Softening is not given, and its default is 0.1: about 0.01[0-9]* suits'
  ok $? "$how: a missing softening, in physical units"
  ini=run.ini
done
# a bulge in the ball: 500 particles of another type within 0.05
awk 'BEGIN { for (k = 0; k < 500; k++) {
  r = 0.05 * (k + 1) / 500; t = 2.4 * k; u = 2 * ((k * 0.618034) % 1) - 1; w = sqrt(1 - u * u)
  printf "%.17g %.17g %.17g %.17g %.17g 0 0.0002\n", r * w * cos(t), r * w * sin(t), r * u, -1.2 * w * sin(t),
    1.2 * w * cos(t) } }' > bulge.txt
with_python "h5py, numpy"
if [ -n "$python" ]; then
  "$python" -c '
import h5py, numpy as np
with h5py.File("both.hdf5", "w") as f:
    rows = [np.loadtxt("ball.txt"), np.loadtxt("bulge.txt")]
    count = [0, len(rows[0]), 0, len(rows[1]), 0, 0]
    f.create_group("Header").attrs.update(NumPart_ThisFile=np.array(count, "u4"), NumFilesPerSnapshot=1,
                                          NumPart_Total=np.array(count, "u4"), MassTable=np.zeros(6))
    for t, x, first in ((1, rows[0], 0), (3, rows[1], len(rows[0]))):
        g = f.create_group(f"PartType{t}")
        g["Coordinates"], g["Velocities"], g["Masses"] = x[:, :3], x[:, 3:6], x[:, 6]
        g["ParticleIDs"] = first + np.arange(len(x))'
  ini="-P Input:InitCondFile=both.hdf5 run.ini"
  for how in --check "-n 1"; do
    run $how
    [ $status = 0 ] &&
      warns 'the softening 0.02 of type 3 is 0\.[5-9][0-9]* of the radius 0.02[0-9]* that holds half of it:'
    ok $? "$how: a softening that is large for one component"
  done
  run --check
  has said '^components  *type 1: half of 2000 within 0\.[78][0-9]* of its centre' &&
    has said '^ *type 3: half of 500 within'
  ok $? "--check: the scales of components"
  run --check -P Gravity:SofteningType3=0.001 -P Time:TimeMax=20 -P Gravity:SofteningType1=0.02
  cat said err | grep -q 'warning: encounters of particles change type 3 within its half-mass radius'
  ok $? "--check: a run that is longer than the relaxation time of a component"
  ini=run.ini
fi
# a disc among particles of a halo that are heavy or light
disc() {
  sed "s/^N = 300000/N = $1/; s/^N = 140000/N = 4000/; s/^N = 40000/N = 1000/; s/^N = 20000/N = 1000/" \
    "$src/params/models/milky-way.ini" > disc-model.ini
  try espalier ic galaxy --overwrite disc-model.ini -o disc.hdf5
  printf '[Input]\nInitCondFile = disc.hdf5\n[Output]\nOutputDir = output\n[Gravity]\nSoftening = 0.3\n' > disc.ini
  try espalier run --check -P Time:TimeMax="$2" disc.ini
}
disc 2000 0.2
cat said err | grep -q 'warning: encounters heat the disc of type 2: the square of its vertical dispersion of [3-8]' &&
  has said 'heating time of the disc 0\.0[0-9]*'
ok $? "--check: a disc that heavy particles of a halo heat"
disc 200000 0.05
! cat said err | grep -q 'encounters heat the disc' && has said 'heating time of the disc'
ok $? "--check: a disc that is not heated in the time of the run"
# predicted, not carried out: -n 0 has no soft step
run -n 0 -P Gravity:Softening=0.00002
[ $status = 0 ] &&
  warns 'Softening = 2e-05 is 0.000[0-9]* of the distance .* of nearest neighbours .*, and a soft step has about' &&
  warns ', and a soft step has about [0-9]* substeps and takes about'
ok $? "a softening a thousand times too small: substeps and seconds at the start"
run --check -P Time:TimeMax=1e9
cat said err |
  grep -q 'the run would take about [0-9.e+]* [a-z]* on these ranks: .* soft steps of .* to TimeMax = 1e+09'
ok $? "--check: a run of years"
run --check -P Time:TimeMax=1e300
[ $status = 1 ] && has err 'error: step 1: soft steps of .* cannot get from time 0 to TimeMax' &&
  { run --check --force -P Time:TimeMax=1e300; [ $status = 1 ]; }
ok $? "--check: steps that cannot get to the end, also with --force"
ini="-P Input:InitCondFile=fast.txt run.ini"
run --check
[ $status = 0 ] && ! grep -q warning said err && has said 'of the centre of mass 1e+06'
ok $? "--check: a bulk velocity of 10^6 is no finding"
run
[ $status = 0 ] && ! grep -q warning err && has output/status '^state=finished$'
ok $? "... and the run may be trusted"
finish
