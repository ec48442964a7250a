#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Soft steps of systems whose particles are of very different masses, and what a run says of steps that are too long.
. "${srcdir:-.}/tests/tap.sh"
new_folder
shown="$dir/said"
export OMP_NUM_THREADS=1
# ring NUMBER MASS: particles on circles from 0.5 to 2 about one of mass 1 at rest
ring() {
  awk -v n="$1" -v mass="$2" 'BEGIN {
    print "0 0 0 0 0 0 1"
    for (i = 0; i < n; i++) {
      r = 0.5 + 1.5 * i / (n - 1); f = 2.4 * i; v = 1 / sqrt(r)
      printf "%.9g %.9g 0 %.9g %.9g 0 %g\n", r * cos(f), r * sin(f), -v * sin(f), v * cos(f), mass
    }
  }' > ring.txt
}
# go [-P ...]: its words in "said", their rows in out/
go() {
  cat > run.ini << END_OF_INI
[Input]
InitCondFile = ring.txt
[Output]
OutputDir = out
[Units]
GravityConstantInternal = 1
[Gravity]
Softening = 0.02
[Device]
Backend = cpu
[Split]
Mode = hybrid
[Steps]
Scheme = block
END_OF_INI
  launch 1 run --overwrite run.ini "$@" > said 2>&1
}
# error_below MOST: |dE/E| of the run
error_below() { sed -n 's/^done: .*largest |dE\/E| //p' said | awk -v most="$1" '$1 < most { good = 1 } END { exit !good }'; }

ring 100 1e-9
go -P Time:TimeMax=3 && error_below 0.1
ok $? "light particles about a heavy one at rest: the soft step is short enough for them"
! grep -q warning said
ok $? "and nothing is warned of"
go -P Time:TimeMax=3 -P Split:SoftStep=3
[ $? = 3 ] && grep -q -x state=untrusted out/status && grep -q '^warning: at time 3 the total energy is off by ' said &&
  grep -q '^energy_error=[1-9].*e+0' out/status
ok $? "a soft step that is far too long: a warning of the energy, which stands in the status too, and exit status 3"
grep -q '^warning: at time 3 SoftStep gives soft steps of 3, and the rule .* would take 0.1' said
ok $? "and that it is longer than the rule's"
go -P Time:TimeMax=0.5 -P Split:SoftStep=0.125 && ! grep -q warning said
ok $? "a soft step of the rule's length: no warning"
ring 20 0
go -P Time:TimeMax=0.5 && grep -q 'largest |dE/E| -$' said && ! grep -q energy_error out/status && ! grep -q warning said
ok $? "an energy of 0 has no relative error"
ring 3 1e-9
go -P Time:TimeMax=300 -P Time:MaxSizeTimestep=300 -P Split:Mode=tree && ! grep -q lattice said && error_below 0.001
ok $? "tree mode, a soft step of many orbits: the lattice does not grow with the square of it"
echo "1..$number"
exit $failed
