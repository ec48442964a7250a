#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Particles without mass in runs: the others move as they do alone, in every scheme and on several ranks; they cost targets, not lists nor LETs;
# restarts, energies, checks, bad input.
. "${srcdir:-.}/tests/harness.sh"
# A ball of 1024 particles of mass 1 in all; then as many without mass, the first 512 at the places of the first ones, with their velocities.
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
settings both.txt
sed -i '/^Scheme/d; /^Mode/d; /^SubstepLog/d; /^TimeMax/s/=.*/= 0.0625/; /^TimeBetSnapshot/s/=.*/= 0.0625/' run.ini
cat > compare.py << 'END'
import sys, h5py, numpy as np
def get(name):
    p = h5py.File(name, "r")["PartType1"]
    order = np.argsort(p["ParticleIDs"][:])
    return p["Coordinates"][:][order], p["Velocities"][:][order]
(x, v), (y, w) = get(sys.argv[1]), get(sys.argv[2])
def off(a, b): return np.abs(a - b).max(axis=1)
moved = np.median(off(x, y[:1024])), np.median(off(v, w[:1024]))
apart = np.median(off(y[:512], y[1024:1536])), np.median(off(w[:512], w[1024:1536]))
print("# with mass: %.1e %.1e; without, at their places: %.1e %.1e" % (moved + apart))
sys.exit(not (len(y) == 2048 and max(moved) < 1e-5 and max(apart) < 1e-5 and np.isfinite(y).all() and np.isfinite(w).all()))
END
with_python "h5py, numpy" || echo "# no python3 with h5py and numpy: orbits are not compared"
# table NAME COLUMN RUN: its values
table() {
  rows "$3/out/$1" | awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i; next } { print $k }'
}
# last NAME COLUMN RUN; ratio LOW HIGH A B: whether B / A is between
last() { table "$@" | tail -n 1; }
ratio() { awk -v low="$1" -v high="$2" -v a="$3" -v b="$4" 'BEGIN { exit !(a != 0 && b / a >= low && b / a <= high) }'; }

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
      ratio 0.9999 1.0001 "$(last energy.csv total $a)" "$(last energy.csv total $b)" &&
      ratio 0.999 1.001 "$(last energy.csv kinetic $a)" "$(last energy.csv kinetic $b)"
    ok $? "$scheme, $ranks ranks: the energies are those of the particles with mass"
    if [ -n "$python" ]; then
      shown="said"
      $python compare.py "$a/out/snapshot_001.hdf5" "$b/out/snapshot_001.hdf5" > said 2>&1
      ok $? "$scheme, $ranks ranks: they move as alone, and those without mass with those at whose places they are"
    fi
    shown="$b/out/steps.csv $a/out/steps.csv"
    ratio 2 2 "$(last steps.csv evaluations_full $a)" "$(last steps.csv evaluations_full $b)" &&
      ratio 1.8 2.2 "$(last steps.csv pairs_full $a)" "$(last steps.csv pairs_full $b)" &&
      { [ $ranks = 1 ] || { ratio 0.95 1.05 "$(last steps.csv let_cells $a)" "$(last steps.csv let_cells $b)" &&
        ratio 0.95 1.05 "$(last steps.csv let_particles $a)" "$(last steps.csv let_particles $b)"; }; }
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
ends 0 && ratio 0.999 1.001 "$(last energy.csv total whole)" "$(last energy.csv total part)"
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
# refused NAME TEXT: the run says it, ends with status 1, and leaves nothing
refused() {
  ends 1 && has "$1/err" "$2" && [ ! -e "$1/out" ]
}
go none 1 -P Input:InitCondFile=../none.txt
check "particles without mass alone are refused" refused none 'none.txt: all 1024 particles have the mass 0'
go negative 1 -P Input:InitCondFile=../negative.txt
refused negative 'negative.txt:7: column 7 is -1; expected a finite mass >= 0'
ok $? "negative masses too"
go point 1 -P Split:Mode=hybrid -P Steps:Integrator=hermite -P Gravity:Softening=0
refused point 'particles [0-9]* and 1[0-9]* are at the same place'
ok $? "without softening, none may be at the place of a particle with mass"
awk 'NR <= 1024 || NR > 1536 { print } END { print; print }' both.txt > twice.txt
go twice 2 -P Input:InitCondFile=../twice.txt -P Split:Mode=hybrid -P Steps:Integrator=hermite -P Gravity:Softening=0
ok $status "but several without mass may share a place"
finish
