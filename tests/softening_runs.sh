#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Softenings of types in whole runs: forces against direct sums and energies on several ranks, restarts, snapshots, and
# what is refused.
. "${srcdir:-.}/tests/harness.sh"
model merger -n 1500 --separation 0.5 -s 3
parameters run.ini $parts
soft="-P Gravity:Softening=0.01 -P Gravity:SofteningHalo=0.08"

# forces RANKS: the errors of total, hard part and potential
forces() {
  mkdir -p f
  (cd f && limit=60 launch "$1" force $soft -P Gravity:ErrTolForceAcc=1e-3 --direct 1500 ../run.ini) > forces 2>&1 &&
    awk '
    /^  (total|hard part|potential)/ { n++
      for (k = 1; k < NF; k++) if ($k ~ /^(median|maximum)$/ && $(k + 1) > worst[$k]) worst[$k] = $(k + 1) }
    END { print "# medians at most " worst["median"] ", maxima " worst["maximum"]
      exit !(n == 3 && worst["median"] < 1e-4 && worst["maximum"] < 2e-3) }' forces
}
shown="forces"
for ranks in 1 2 4; do
  check "forces of two classes, ranks: $ranks" forces $ranks
done

# total NAME: the total energy at the start and at the end
total() { awk -F, '/^[0-9]/ { e = $4; if (!n++) first = e } END { printf "%.12g %.12g\n", first, e }' \
  "$1/out/energy.csv"; }
# close A B TOLERANCE
close() { awk -v a="$1" -v b="$2" -v t="$3" \
  'BEGIN { d = a / b - 1; if (d < 0) d = -d; printf "# %.2e\n", d; exit !(d < t) }'; }

for scheme in block hybrid hermite pairs; do
  case $scheme in
    block) set -- -P Split:Mode=tree -P Time:MaxSizeTimestep=0.015625 ;;
    hybrid) set -- ;;
    hermite) set -- -P Steps:Integrator=hermite ;;
    *) set -- -P Steps:Criterion=pairs ;;
  esac
  set -- "$@" $soft
  for ranks in 1 3; do
    go $scheme-$ranks $ranks "$@"
    ok $status "$scheme, ranks: $ranks: a run"
    total $scheme-$ranks > total
    read -r begin end < total
    check "$scheme, ranks: $ranks: the energy is kept" close "$begin" "$end" 1e-4
    [ $ranks = 1 ] && one=$begin last=$end
  done
  close "$one" "$begin" 1e-6 && close "$last" "$end" 2e-5
  ok $? "$scheme: 1 and 3 ranks have the same energies"
  go $scheme-parts 3 -n 3 "$@"
  go $scheme-parts 3 -r "$@"
  ends 0 && same $scheme-3 $scheme-parts
  ok $? "$scheme, 3 ranks: the same bits in two parts"
done

# One softening for all present types is one softening, however it is given; types without particles do not count.
go alike 1 -P Gravity:Softening=0.02
go given 1 -P Gravity:Softening=7 -P Gravity:SofteningType1=0.02 -P Gravity:SofteningDisk=0.02 \
  -P Gravity:SofteningType4=3
check "equal softenings of all types: the bits of one softening" cmp alike/out/energy.csv given/out/energy.csv
go changed 3 -n 3 -P Gravity:SofteningType1=0.08
go changed 3 -r -P Gravity:SofteningType1=0.05
check "a restart with another softening is refused" \
  ends 1 'SofteningType1 = 0.05, but the checkpoint was made with 0.08'
go bare 1 -P Gravity:Softening=0 -P Gravity:SofteningType1=0.02
ends 1 'Softening = 0' && [ ! -e bare/out ]
ok $? "types without softening need neighbour lists"
go negative 1 -P Gravity:SofteningStars=-1
check "a softening below 0 is refused" ends 1 'SofteningStars=-1: expected a number at least 0 (length)'
printf '[Gravity]\nSofteningHalo = 1\nSofteningType1 = 2\n' > twice.ini
check "both names of a softening are refused" \
  says 1 'SofteningType1 is given twice; the first is in line 2' -- espalier run twice.ini

if with_python h5py; then
  check "snapshots have the classes of softening" judge softening_classes hermite-3/out/snapshot_001.hdf5
else
  skip "classes in snapshots" "no h5py"
fi
finish
