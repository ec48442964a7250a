#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Soft steps of systems whose particles are of very different masses, and what a run says of steps that are too long.
. "${srcdir:-.}/tests/harness.sh"
shown="said"
# ring NUMBER MASS: particles on circles from 0.5 to 2 about one of mass 1 at rest; orbits: with the velocities of
# circular orbits in the softened force
ring() { circles $(($1 - 1)) "$1" "$2" '1 / sqrt(r)'; }
orbits() { circles "$1" "$1" "$2" 'r / (r * r + 0.0004) ^ 0.75'; }
circles() {
  awk -v last="$1" -v n="$2" -v mass="$3" 'BEGIN { print "0 0 0 0 0 0 1"
    for (i = 0; i < n; i++) { r = 0.5 + 1.5 * i / last; f = 2.4 * i; v = '"$4"'
      printf "%.17g %.17g 0 %.17g %.17g 0 %g\n", r * cos(f), r * sin(f), -v * sin(f), v * cos(f), mass } }' > ring.txt
}
parameters run.ini Input:InitCondFile=ring.txt Output:OutputDir=out Gravity:Softening=0.02 Device:Backend=cpu $hybrid
# go [-P ...]: its words in "said", their rows in out/
go() { launch 1 run --overwrite run.ini "$@" > said 2>&1; }
# error_below MOST: |dE/E| of the run
error_below() { sed -n 's/^done: .*largest |dE\/E| //p' said |
  awk -v most="$1" '$1 < most { good = 1 } END { exit !good }'; }

ring 100 1e-9
go -P Time:TimeMax=3 && error_below 0.1
ok $? "light particles about a heavy one at rest: the soft step is short enough for them"
! grep -q warning said
ok $? "and nothing is warned of"
go -P Time:TimeMax=3 -P Split:SoftStep=3
[ $? = 3 ] && grep -q -x state=untrusted out/status && has said '^warning: at time 3 the total energy is off by ' &&
  has out/status '^energy_error=[1-9].*e+0'
ok $? "a soft step that is far too long: a warning of the energy, which stands in the status too, and exit status 3"
has said '^warning: at time 3 SoftStep gives soft steps of 3, and the rule .* would take 0.0'
ok $? "and that it is longer than the rule's"
go -P Time:TimeMax=0.5 -P Split:SoftStep=0.015625 && ! grep -q warning said
ok $? "a soft step of the rule's length: no warning"
ring 20 0
go -P Time:TimeMax=0.5; [ $? = 1 ] && has said 'R1 = 0: .* there is one, with 20 without mass: give \[Split\] R1'
ok $? "one particle with mass: R1 has no rule, and the sentence says so"
go -P Time:TimeMax=0.5 -P Split:R1=0.2 && has said 'largest |dE/E| -$' && ! grep -q energy_error out/status &&
  ! grep -q warning said
ok $? "an energy of 0 has no relative error"
ring 3 1e-9
go -P Time:TimeMax=300 -P Time:MaxSizeTimestep=300 -P Split:Mode=tree && ! grep -q lattice said && error_below 0.001
ok $? "tree mode, a soft step of many orbits: the lattice does not grow with the square of it"

# Circular orbits in the softened force, ten of the innermost one: their phases after these. R2 by rule is at 1.1, R1 at
# 0.56.
if with_python "h5py, numpy"; then
  orbits 100 1e-9
  go -P Time:TimeMax=22.2 && judge phases out 0.05 1
  ok $? "orbits about a heavy particle, also between R1 and R2: within 0.05 rad after ten of them"
  # two particles of like masses, at rest with their centre: R2 is their distance
  awk 'BEGIN { v = 0.5 / 1.0004 ^ 0.75; printf "-0.5 0 0 0 %.17g 0 0.5\n0.5 0 0 0 %.17g 0 0.5\n", -v, v }' > ring.txt
  go -P Time:TimeMax=62.8 && judge phases out 0.05 1
  ok $? "two particles alone"
fi
finish
