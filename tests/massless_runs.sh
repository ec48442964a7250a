#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Particles without mass in runs: the others move as they do alone, in every scheme and on several ranks; they cost
# targets, not lists nor LETs; restarts, energies, checks, bad input.
. "${srcdir:-.}/tests/harness.sh"
# A ball of 1024 particles of mass 1 in all; then as many without mass, the first 512 at the places of the first ones,
# with their velocities.
ball() {
  awk -v more="$1" 'BEGIN { s = 1; n = 1024
    while (i < 2 * n) {
      for (k = 0; k < 6; k++) { s = (s * 16807) % 2147483647; x[k] = 2 * s / 2147483647 - 1 }
      if (x[0] ^ 2 + x[1] ^ 2 + x[2] ^ 2 > 1) continue
      line = sprintf("%.15g %.15g %.15g %.15g %.15g %.15g", x[0], x[1], x[2], 0.6 * x[3], 0.6 * x[4], 0.6 * x[5])
      i++
      if (i <= n) place[i] = line
      if (i <= n) print line, 1 / n
      else if (more) print (i - n <= n / 2 ? place[i - n] : line), 0
    } }'
}
ball 0 > alone.txt
ball 1 > both.txt
awk '{ $7 = 0; print }' alone.txt > none.txt
awk 'NR == 7 { $7 = -1 } { print }' both.txt > negative.txt
awk 'NR > 1 { $7 = 0 } { print }' alone.txt > one.txt
parameters run.ini $parts Input:InitCondFile=../both.txt Steps:Scheme= Split:Mode= Output:SubstepLog= \
  Time:TimeMax=0.0625 \
  Output:TimeBetSnapshot=0.0625
with_python "h5py, numpy" || echo "# no python3 with h5py and numpy: orbits are not compared"
# last TABLE COLUMN RUN; ratio LOW HIGH TABLE COLUMN A B: whether the last value of run B over that of A is between
last() { columns "$3/out/$1" "$2" | tail -n 1; }
ratio() { awk -v low="$1" -v high="$2" -v a="$(last "$3" "$4" "$5")" -v b="$(last "$3" "$4" "$6")" \
  'BEGIN { exit !(a != 0 && b / a >= low && b / a <= high) }'; }

for scheme in tree hybrid hermite pairs; do
  case $scheme in
  tree) options='-P Split:Mode=tree -P Steps:Scheme=block -P Time:MaxSizeTimestep=0.015625' ;;
  hybrid) options='-P Split:Mode=hybrid -P Steps:Scheme=block' ;;
  hermite) options='-P Split:Mode=hybrid -P Steps:Scheme=block -P Steps:Integrator=hermite' ;;
  pairs) options='-P Split:Mode=hybrid -P Steps:Scheme=block -P Steps:Criterion=pairs' ;;
  esac
  case $scheme in hybrid) numbers='1 2 3' ;; tree) numbers='1 3' ;; *) numbers='1 2' ;; esac
  for ranks in $numbers; do
    go $scheme-alone-$ranks $ranks $options -P Input:InitCondFile=../alone.txt
    go $scheme-both-$ranks $ranks $options
    a=$scheme-alone-$ranks b=$scheme-both-$ranks
    ends 0 && ! grep -q -i nan "$b/out/energy.csv" &&
      ratio 0.9999 1.0001 energy.csv total $a $b && ratio 0.999 1.001 energy.csv kinetic $a $b
    ok $? "$scheme, $ranks ranks: the energies are those of the particles with mass"
    if [ -n "$python" ]; then
      check "$scheme, $ranks ranks: they move as alone, and those without mass with those at whose places they are" \
        judge massless "$a/out/snapshot_001.hdf5" "$b/out/snapshot_001.hdf5"
    fi
    shown="$b/out/steps.csv $a/out/steps.csv"
    ratio 2 2 steps.csv evaluations_full $a $b && ratio 1.8 2.2 steps.csv pairs_full $a $b &&
      { [ $ranks = 1 ] || { ratio 0.95 1.05 steps.csv let_cells $a $b &&
        ratio 0.95 1.05 steps.csv let_particles $a $b; }; }
    ok $? "$scheme, $ranks ranks: twice the targets, lists as long, LETs with as many entries"
  done
done

# a restart, on other numbers of ranks too
go whole 2 -P Split:Mode=hybrid -P Time:TimeMax=0.125
go part 2 -P Split:Mode=hybrid
go part 2 -P Split:Mode=hybrid -P Time:TimeMax=0.125 -r
ends 0 && cmp whole/out/energy.csv part/out/energy.csv &&
  cmp whole/out/snapshot_002.hdf5 part/out/snapshot_002.hdf5
ok $? "a restart has the same bits"
go part 3 -P Split:Mode=hybrid -P Time:TimeMax=0.1875 -r
ends 0 && ratio 0.999 1.001 energy.csv total whole part
ok $? "also on 3 ranks"

# numbers of the rules: those of the particles with mass
go check-alone 1 -P Input:InitCondFile=../alone.txt -P Split:SoftStep=0 --check
go check 1 -P Split:SoftStep=0 --check
ends 0 && has check/log '^test particles      1024 of 2048 particles have no mass' &&
  for line in size neighbours masses; do
    grep "^$line " check/log > "check.$line" && grep "^$line " check-alone/log | cmp - "check.$line" || exit 1
  done
ok $? "run --check names them, and sizes, distances and masses are those without them"

# one mass, and many without
go one 2 -P Input:InitCondFile=../one.txt -P Split:Mode=tree -P Steps:Scheme=block -P Time:MaxSizeTimestep=0.0078125
ends 0 && ! grep -q -i nan one/out/energy.csv && has one/log '^done:'
ok $? "a single particle with mass, and 1023 without"

go sun 2 -P Input:InitCondFile=../one.txt -P Split:Mode=hybrid -P Steps:Scheme=block
ends 1 'R1 = 0: it follows the distances between particles with mass, and there is one, with 1023' && [ ! -e sun/out ]
ok $? "for which R1 has no rule"

# bad input
refused 'none.txt: all 1024 particles have the mass 0' -P Input:InitCondFile=../none.txt
refused 'negative.txt:7: column 7 is -1; expected a finite mass >= 0' -P Input:InitCondFile=../negative.txt
# without softening, none may be at the place of a particle with mass
refused 'particles [0-9]* and 1[0-9]* are at the same place' -P Split:Mode=hybrid -P Steps:Integrator=hermite \
  -P Gravity:Softening=0
awk 'NR <= 1024 || NR > 1536 { print } END { print; print }' both.txt > twice.txt
go twice 2 -P Input:InitCondFile=../twice.txt -P Split:Mode=hybrid -P Steps:Integrator=hermite -P Gravity:Softening=0
ok $status "but several without mass may share a place"
finish
