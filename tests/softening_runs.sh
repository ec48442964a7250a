#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Softenings of types in whole runs: forces against direct sums and energies on several ranks, restarts, snapshots, and what is refused.
. "${srcdir:-.}/tests/harness.sh"
${MPIRUN:-mpirun} $MPIRUN_FLAGS -n 1 espalier ic merger -n 1500 --separation 0.5 -s 3 -o merger.hdf5 > ic.log 2>&1 || { cat ic.log; exit 99; }
settings merger.hdf5
soft="-P Gravity:Softening=0.01 -P Gravity:SofteningHalo=0.08"

# forces RANKS: the errors of total, hard part and potential
forces() {
  (cd "$dir" && mkdir -p f && cd f && timeout 60 ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n "$1" espalier force $soft -P Gravity:ErrTolForceAcc=1e-3 --direct 1500 ../run.ini) > forces 2>&1 &&
    awk '/^  (total|hard part|potential)/ { for (k = 1; k < NF; k++) if ($k == "median" || $k == "maximum") worst[$k] = $(k + 1) > worst[$k] ? $(k + 1) : worst[$k]; n++ }
      END { print "# medians at most " worst["median"] ", maxima " worst["maximum"]; exit !(n == 3 && worst["median"] < 1e-4 && worst["maximum"] < 2e-3) }' forces
}
shown="forces"
for ranks in 1 2 4; do
  forces $ranks
  ok $? "forces of two classes, ranks: $ranks"
done

# total NAME: the total energy at the start and at the end
total() { awk -F, '/^[0-9]/ { e = $4; if (!n++) first = e } END { printf "%.12g %.12g\n", first, e }' "$1/out/energy.csv"; }
# close A B TOLERANCE
close() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a / b - 1; if (d < 0) d = -d; printf "# %.2e\n", d; exit !(d < t) }'; }

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
go given 1 -P Gravity:Softening=7 -P Gravity:SofteningType1=0.02 -P Gravity:SofteningDisk=0.02 -P Gravity:SofteningType4=3
without=$(cd "$dir" && cmp alike/out/energy.csv given/out/energy.csv && echo same)
check "equal softenings of all types: the bits of one softening" test "$without" = same

go changed 3 -n 3 -P Gravity:SofteningType1=0.08
go changed 3 -r -P Gravity:SofteningType1=0.05
ends 1 'SofteningType1 = 0.05, but the checkpoint was made with 0.08'
ok $? "a restart with another softening is refused"
go bare 1 -P Gravity:Softening=0 -P Gravity:SofteningType1=0.02
ends 1 'Softening = 0' && [ ! -e bare/out ]
ok $? "types without softening need neighbour lists"
go negative 1 -P Gravity:SofteningStars=-1
check "a softening below 0 is refused" ends 1 'SofteningStars=-1: expected a number at least 0 (length)'
printf '[Gravity]\nSofteningHalo = 1\nSofteningType1 = 2\n' > twice.ini
espalier run twice.ini > twice 2>&1
status=$? shown="twice"
ends 1 && has twice 'SofteningType1 is given twice; the first is in line 2'
ok $? "both names of a softening are refused"

if python3 -c 'import h5py' 2> /dev/null; then python=python3; elif /usr/bin/python3 -c 'import h5py' 2> /dev/null; then python=/usr/bin/python3; else python=; fi
if [ "$python" ]; then
  $python - hermite-3/out/snapshot_001.hdf5 > attributes 2>&1 << 'END_OF_PYTHON'
import sys
import h5py
at = h5py.File(sys.argv[1])["Parameters"].attrs
own = [float(at[f"SofteningComovingClass{at[f'SofteningClassOfPartType{t}']}"]) for t in (1, 2)]
print(own, at["SofteningType1"], at["Softening"])
sys.exit(not (own == [0.08, 0.01] and at["SofteningType1"] == 0.08 and at["Softening"] == 0.01 and "SofteningMaxPhysClass1" in at))
END_OF_PYTHON
  status=$? shown="attributes"
  ok $status "snapshots have the classes of softening"
else
  number=$((number + 1))
  echo "ok $number # SKIP classes in snapshots: no h5py"
fi
finish
