#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs in comoving coordinates from files to files: a GADGET file with a redshift comes back in the first snapshot,
# times are expansion factors, restarts give the same bits, a snapshot can be a beginning, and bad input has a sentence.
# tests/expansion.c has the physics.
. "${srcdir:-.}/tests/harness.sh"
tool=$src/tests/comoving.py limit=600
with_python "struct, math" || skip_all "no python3"
"$python" "$tool" make ic.dat 6 0.1 0.3 0.7 0.01 1 && "$python" "$tool" make silent.dat 6 0.1 0.3 0.7 0.01 0 || exit 99
printf '0.15\n0.3\n' > times
parameters run.ini Input:InitCondFile=../ic.dat Units:GravityConstantInternal= Output:OutputDir=out \
  Output:OutputListFilename=../times Output:TimeBetStatistics=1e-9 Output:SubstepLog=on Output:Groups=on \
  Output:GroupMinSize=1 \
  Checkpoints:CheckpointAtEnd=on Time:TimeBegin=0.1 Time:TimeMax=0.4 Cosmology:Comoving=on Cosmology:Omega0=0.3 \
  Cosmology:OmegaLambda=0.7 Cosmology:HubbleParam=0.7 Gravity:Softening=300 Device:Tuning=frozen Device:Backend=cpu \
  Steps:Eta=0.1
with_python "h5py, numpy"   # for snapshots; none: they are compared byte by byte alone
# look ARGUMENT...: comoving.py with the modules it needs
look() { [ -z "$python" ] || "$python" "$tool" "$@"; }

for mode in tree hybrid; do
  ranks=2
  [ $mode = tree ] || ranks=3
  set -- -P Split:Mode=$mode
  [ $mode = hybrid ] || set --   # which is the default
  go $mode $ranks "$@"
  ends 0 && quiet
  ok $? "$mode: a run from a GADGET file, without a warning"
  has "$mode/log" "$mode from time 0.1 (z = 9) to 0.4 (z = 1.5)" && has "$mode/log" 'from z = 9 to 1.5' &&
    has "$mode/log" '%), z [0-9]'
  ok $? "$mode: the terminal shows redshifts"
  check "... and units with h" has "$mode/log" '^units: length 1 kpc/h, mass 1e+10 Msun/h, velocity 1 km/s$'
  [ "$(ls "$mode/out"/snapshot_*.hdf5 | wc -l)" = 4 ] && has "$mode/log" 'snapshot_001.hdf5 at time 0.15' &&
    has "$mode/log" 'snapshot_003.hdf5 at time 0.4'
  ok $? "$mode: snapshots at the expansion factors of the list"
  worst=$(sed -n 's/.*largest |dE.E| //p' "$mode/log")
  holds "${worst:--1} > 0 && ${worst:--1} < 1e-3"
  ok $? "$mode: dE is that of Layzer and Irvine: $worst"
  check "$mode: attributes of a snapshot" look header "$mode/out/snapshot_002.hdf5" 0.3
  look first "$mode/out/snapshot_000.hdf5" ic.dat
  ok $? "$mode: the first snapshot has the positions and velocities of the file"
  look grown "$mode/out/snapshot_003.hdf5" 6 0.1 0.4 0.3 0.7 0.01 300
  ok $? "$mode: the sphere has contracted as theory says"
  shown="said"
  for number_of in 000 003; do
    (cd "$mode" && rm -f again.hdf5 &&
      timeout 60 ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n 2 espalier groups --min-size 1 \
      -o again.hdf5 out/snapshot_$number_of.hdf5 < /dev/null && cmp again.hdf5 out/fof_$number_of.hdf5)
    echo "status $?"
  done > said 2>&1
  [ "$(grep -c 'status 0' said)" = 2 ] && [ "$(grep -c 'catalogue .* groups of 1 particle' said)" = 2 ] &&
    [ "$(sed -n 's/.*linking length \([0-9.]*\) .*/\1/p' said | sort -u | wc -l)" = 1 ]
  ok $? "$mode: espalier groups makes the run's catalogues from its snapshots, with one linking length at all times"
  look catalogue "$mode/out/fof_003.hdf5" "$mode/out/snapshot_003.hdf5" 0.4 0.2 6
  ok $? "$mode: a catalogue states cosmology, linking length 0.2 of the lattice, and the snapshot's velocities"
  go $mode-parts $ranks "$@" -n 4
  go $mode-parts $ranks "$@" -n 9 -r
  go $mode-parts $ranks "$@" -r
  ends 0 && same $mode $mode-parts
  ok $? "$mode: the same bits in three parts"
done
# long soft steps with checkpoint ticks, at which a run may end too
export ESPALIER_DEBUG=checkpoint_ticks=4
set -- -P Time:MaxSizeTimestep=0.2 -P Output:OutputListFilename= -P Time:TimeMax=0.3 -P Steps:Eta=0.02
go ticks 2 "$@"
for part in 1 2 3 4 5 6; do
  [ $part = 1 ] && go ticks-parts 2 "$@" --walltime 0
  [ $part = 1 ] || go ticks-parts 2 "$@" -r --walltime 0
done
check "a run that ends at a checkpoint tick" has ticks-parts/log 'within soft step .*, of which'
go ticks-parts 2 "$@" -r
ends 0 && same ticks ticks-parts
ok $? "the same bits in parts that end at checkpoint ticks"
unset ESPALIER_DEBUG
check "tree and hybrid end alike" look near tree/out/snapshot_003.hdf5 hybrid/out/snapshot_003.hdf5 1e-3
go one 1
check "1 and 2 ranks end alike" look near tree/out/snapshot_003.hdf5 one/out/snapshot_003.hdf5 1e-4
go later 2 -P Input:InitCondFile=../tree/out/snapshot_002.hdf5 -P Output:OutputListFilename=
ends 0 && look near tree/out/snapshot_003.hdf5 later/out/snapshot_001.hdf5 1e-4
ok $? "a run from a snapshot ends where that of the snapshot does"
if [ -n "$python" ]; then
  look shift ic.dat moving.dat
  go moving 2 -P Input:InitCondFile=../moving.dat
  ends 0 && look moved tree/out/snapshot_003.hdf5 moving/out/snapshot_003.hdf5 0.1 0.4
  ok $? "a sphere elsewhere and in motion is the same"
  look foreign tree/out/snapshot_000.hdf5 foreign.hdf5
  go foreign 2 -P Input:InitCondFile=../foreign.hdf5
  ends 0 && quiet && look near tree/out/snapshot_003.hdf5 foreign/out/snapshot_003.hdf5 1e-6
  ok $? "a run from an HDF5 file of another program ends alike"
fi
go check 2 --check
ends 0 && has check/log 'expansion  *Omega0 = 0.3, OmegaLambda = 0.7' && has check/log 'ends at 0.4 (z = 1.5)' &&
  lacks check/log 'warning' && quiet
ok $? "run --check"

# the field at points: that of all mass at the distance 2 R less that of the mean density, Omega0 H_0^2 / 2 x, in
# comoving lengths
printf '40000 0 0\n10000 2000 0\n' > points
for how in '' --exact; do
  (cd tree && timeout 60 espalier force --at ../points $how ../run.ini 2>&1 < /dev/null | grep -v '^[#x]')
done > said
shown="said"
awk -F, '{ x[NR] = $4; p[NR] = $7 } END { m = 285245.972; G = 43007.1; w = 0.3 * 0.01 / 2 * 40000 - G * m / 40000 ^ 2
  printf "# %s %s, theory %s; %s %s, theory %s\n", x[1], x[3], w, p[1], p[3], -G * m / 40000
  exit !(NR == 4 && (x[1] / w - 1) ^ 2 < 1e-5 && (x[3] / w - 1) ^ 2 < 1e-5 && (x[2] / x[4] - 1) ^ 2 < 1e-6 &&
    (p[1] * 40000 / (G * m) + 1) ^ 2 < 1e-6 && (p[1] / p[3] - 1) ^ 2 < 1e-8) }' said
ok $? "force --at, by the tree and directly: forces and potentials of comoving lengths, with the background"
(cd tree && timeout 60 espalier force --direct 100 ../run.ini 2>&1 < /dev/null) > said
awk '/total, of .a./ { error = $5 } END { print "# median error " error; exit !(error != "" && error < 1e-3) }' said
ok $? "force --direct: the direct sums have the background, too"
go density 1 --check -P Input:InitCondFile=../silent.dat -P Cosmology:Omega0=0.25 -P Cosmology:OmegaLambda=0.75
ends 0 && has density/log \
  'warning: the sphere has the comoving mean density .*times the mean density .*it would collapse as a whole'
ok $? "a sphere of another density than the universe has a warning"

refuses() { limit=120 refused "$@"; }
refuses 'Omega0 = 0 .*expected the density of matter, a number above 0' -P Cosmology:Omega0=0
refuses "Omega0=-0.3: expected a number from 0 to 1000, found '-0.3'" -P Cosmology:Omega0=-0.3
refuses 'TimeBegin = 0 .*expected the expansion factor of the initial conditions' -P Time:TimeBegin=0
refuses 'TimeBegin = -1 .*expected the expansion factor' -P Time:TimeBegin=-1
refuses 'TimeMax = 2000 .*expected an expansion factor of at most 1000' -P Time:TimeMax=2000
refuses 'TimeMax = 0.05 .*expected TimeMax above TimeBegin' -P Time:TimeMax=0.05
refuses 'states Redshift = 9, but the parameters have TimeBegin = 0.2; set TimeBegin = 0.1' -P Time:TimeBegin=0.2
refuses 'states Omega0 = 0.3, but the parameter file has .Cosmology. Omega0 = 0.4' -P Cosmology:Omega0=0.4
[ -z "$python" ] || refuses 'foreign.hdf5 states OmegaLambda = 0.7, but' -P Cosmology:OmegaLambda=0.6 \
  -P Input:InitCondFile=../foreign.hdf5
refuses 'states HubbleParam = 0.7, but' -P Cosmology:HubbleParam=0.5
refuses 'TimeBetSnapshot = 1.1 .*not a factor as in GADGET' -P Output:OutputListFilename= -P Output:TimeBetSnapshot=1.1
refuses 'expected Integrator = leapfrog and Criterion = min-av or a' -P Steps:Integrator=hermite
refuses 'expected Integrator = leapfrog and Criterion = min-av or a' -P Steps:Criterion=pairs
refuses 'expected a softening above 0' -P Gravity:Softening=0
refuses 'SoftStep = 0.01 .*give MaxSizeTimestep, the largest d ln a' -P Split:SoftStep=0.01
refuses 'GravityConstantInternal = 1 .*follow from the units' -P Units:GravityConstantInternal=1
refuses 'this universe does not expand at a = ' -P Input:InitCondFile=../silent.dat -P Cosmology:Omega0=0.1 \
  -P Cosmology:OmegaLambda=3
refuses 'snapshot_001.hdf5 is of a run with Comoving = on, but the parameters have Comoving = off' \
  -P Cosmology:Comoving=off -P Input:InitCondFile=../tree/out/snapshot_001.hdf5
refuses 'is at the expansion factor 0.15, before TimeBegin = 0.2; set TimeBegin = 0.15' -P Time:TimeBegin=0.2 \
  -P Input:InitCondFile=../tree/out/snapshot_001.hdf5
# the tool that makes spheres
sphere() { timeout 60 "$python" "$src/tools/zeldovich_sphere.py" "$@"; }
if with_python numpy; then
  check "zeldovich_sphere: initial conditions" try sphere -o sphere.dat --cells 12 --radius 12000
  cp said sphere.ini
  try launch 2 run --check sphere.ini
  [ $status = 0 ] && has said '912 particles' && has said 'begins at  *0.02, ends at 1 (z = 0)' &&
    lacks said 'warning: the sphere has'
  ok $? "... which a run takes with the parameters that it prints, and with the density of the universe"
  check "zeldovich_sphere refuses to replace a file" says 1 'zeldovich_sphere: .*sphere.dat: already exists' -- \
    sphere -o sphere.dat
  for option in '--cells 2' '--radius 0' '--omega0 -1' '--sigma8 nan' '--omega-lambda 5'; do
    says 1 '^zeldovich_sphere: --' -- sphere -o other.dat $option && [ "$(wc -l < err)" = 1 ] && [ ! -e other.dat ]
    ok $? "zeldovich_sphere $option: one sentence"
  done
fi
finish
