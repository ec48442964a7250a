#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The frame of the centre of mass: a system in motion or far away has the orbits of one at rest; output is in the user's
# frame; the net force of the tree moves nothing; a restart has the same bits.
. "${srcdir:-.}/tests/harness.sh"
# 1024 particles in a ball of radius 1, total mass 1. All numbers are multiples of 2^-24, so that 10^6 can be added
# without rounding.
ball() {
  awk -v x0="$1" -v v0="$2" 'BEGIN { s = 1
    while (n < 1024) {
      for (k = 0; k < 6; k++) { s = (s * 16807) % 2147483647;
        x[k] = int(2 * s / 2147483647 * 16777216 - 16777216) / 16777216 }
      if (x[0] ^ 2 + x[1] ^ 2 + x[2] ^ 2 > 1) continue
      printf "%.17g %.17g %.17g %.17g %.17g %.17g 0.0009765625\n", x0 + x[0], x[1] - x0 / 2, x0 / 4 + x[2],
        v0 + x[3] / 4, x[4] / 4 - v0 / 2, x[5] / 4
      n++
    } }'
}
ball 0 0 > rest.txt
ball 0 1000 > slow.txt
ball 0 1000000 > fast.txt
ball 1000000 0 > far.txt
ball 1000000 1000000 > both.txt
parameters run.ini $parts Input:InitCondFile=../rest.txt Output:TimeBetSnapshot=0.0625 Gravity:Softening=0.02 \
  Device:Tuning= \
  Split:SoftStep= Steps:Scheme=
# of RUN NAME...: columns of energy.csv
of() { run=$1 && shift && columns "$run/out/energy.csv" "$@"; }
# What does not depend on the frame, to the last digit
inner() {
  of "$1" time kinetic potential total angular_x angular_y angular_z momentum_removed momentum_scale angular_scale
}

for ranks in 1 2 3; do
  go rest-$ranks $ranks
  inner rest-$ranks > rest
  for set in slow fast far both; do
    go $set-$ranks $ranks -P Input:InitCondFile=../$set.txt
    inner $set-$ranks > moved
    ends 0 && quiet && [ "$(wc -l < moved)" -gt 2 ] && cmp rest moved
    ok $? "$set, $ranks ranks: the energies are those at rest, to the last digit, and no warning"
  done
done

# the first row is of the same particles on any number of ranks
scales() { of "$1" momentum_scale angular_scale | head -n 1; }
scales rest-1 > said
[ "$(scales rest-2)" = "$(cat said)" ] && [ "$(scales rest-3)" = "$(cat said)" ] &&
  awk '{ exit !($1 > 0.2 && $1 < 0.3 && $2 > 0.05 && $2 < $1) }' said
ok $? "the sums m|v| and m|r x v| are the same on 1, 2 and 3 ranks"

# straight CENTRE MOMENTUM RUN: over the rows of energy.csv the centre of mass stays within CENTRE of a straight line,
# and the momentum within MOMENTUM
straight() {
  of "$3" time com_x com_y com_z momentum_x momentum_y momentum_z momentum_removed |
    awk -v centre="$1" -v momentum="$2" '
    function off(a, b) { return a > b ? a - b : b - a }
    NR == 1 { for (c = 1; c <= 7; c++) first[c] = $c; next }
    { for (c = 2; c <= 4; c++) { d = off($c, first[c] + first[c + 3] * ($1 - first[1])); if (d > away) away = d }
      for (c = 5; c <= 7; c++) if (off($c, first[c]) > change) change = off($c, first[c])
      removed += $8 }
    END { printf "# %d rows; centre %.1e off a straight line, momentum changes by %.1e, removed %.1e\n", NR, away,
      change, removed
      exit !(NR > 2 && away < centre && change <= momentum && removed > 1e-7) }'
}
straight 1e-5 1e-9 both-1 && of both-1 com_x | grep -q '^1000000\.' && of both-1 momentum_x | grep -q '^1000000\.' &&
  of both-1 com_y | grep -q -e '^-562499\.' -e '^-562500\.'
ok $? "energy.csv: centre of mass and momentum are in the user's frame; the momentum is constant"

# from a snapshot of the moving system: it continues where the run was
go again 2 -n 1 -P Input:InitCondFile=../both-1/out/snapshot_001.hdf5
for c in time kinetic com_x com_y com_z momentum_x momentum_y momentum_z; do
  one=$(of again $c | head -n 1)
  of both-1 $c | awk -v one="$one" '{ d = $1 - one; if (d < 0) d = -d; if (d < 1e-8) found = 1 } END { exit !found }' ||
    echo "$c: $one"
done > said
ends 0 && [ ! -s said ]
ok $? "a snapshot is in the user's frame: a run from it begins with the same centre, momentum and energy"
says 0 'within .* of (1e+06, -5e+05, 2.5e+05)' 'of the centre of mass 1.118e+06' -- \
  espalier run --check run.ini --overwrite -P Input:InitCondFile=both.txt -P Output:OutputDir=none &&
    lacks .said 'warning'
ok $? "run --check: place and velocity are those of the input, and there is no warning"

# three parts
go parts 2 -n 1 -P Input:InitCondFile=../both.txt
go parts 2 -n 2 -r -P Input:InitCondFile=../both.txt
go parts 2 -r -P Input:InitCondFile=../both.txt
ends 0 && same both-2 parts
ok $? "a restart has the same bits"

# The net force of a coarse tree moves the centre by 2 to 10 times as much where it is not taken out.
coarse="-P Gravity:ErrTolForceAcc=0.02 -P Time:TimeMax=1 -P Output:TimeBetSnapshot=1"
for mode in hybrid tree shared hermite pairs; do
  case $mode in
    hybrid) set -- 3e-5 ;;
    tree) set -- 3e-5 -P Split:Mode=tree ;;
    shared) set -- 5e-6 -P Split:Mode=tree -P Steps:Scheme=shared ;;
    hermite) set -- 5e-6 -P Steps:Integrator=hermite ;;
    pairs) set -- 5e-6 -P Steps:Criterion=pairs ;;
  esac
  most=$1
  shift
  go $mode 2 $coarse "$@"
  ends 0 && straight $most 1e-12 $mode
  ok $? "$mode: the net force of the tree is taken out"
done
finish
