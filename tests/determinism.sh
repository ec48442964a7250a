#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Two identical runs give the same bits; runs on one to four ranks agree as far as the criterion lets them.
. "${srcdir:-.}/tests/harness.sh"

if ! with_python "h5py, numpy"; then
  echo "1..0 # SKIP no python3 with h5py and numpy"
  exit 0
fi

cat > run.ini << 'END'
[Input]
InitCondFile = plummer.hdf5
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = 0.125
[Output]
TimeBetStatistics = 1e-9
[Gravity]
Softening = 0.0139
[Device]
Tuning = frozen
[Split]
Mode = hybrid
SoftStep = 0.03125
[Steps]
Scheme = block
END
# same FILE FILE: the same datasets, bit by bit
cat > same.py << 'END'
import sys
import h5py
import numpy
one, two = (h5py.File(name, "r") for name in sys.argv[1:3])
names = []
one.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
others = []
two.visititems(lambda name, item: others.append(name) if isinstance(item, h5py.Dataset) else None)
differ = [n for n in names if one[n].dtype != two[n].dtype or one[n][...].tobytes() != two[n][...].tobytes()]
for n in differ:
    print("# differs:", n)
sys.exit(names != others or len(names) < 4 or bool(differ))
END
# near FILE FILE: the same particles at nearly the same places
cat > near.py << 'END'
import sys
import h5py
import numpy
def load(name):
    group = h5py.File(name, "r")["PartType1"]
    order = numpy.argsort(group["ParticleIDs"][...])
    return [group[n][...][order] for n in ("ParticleIDs", "Coordinates", "Velocities", "Potential")]
a, b = load(sys.argv[1]), load(sys.argv[2])
distance = numpy.sqrt(((a[1] - b[1]) ** 2).sum(1))
speed = numpy.sqrt(((a[2] - b[2]) ** 2).sum(1))
potential = abs(a[3] / b[3] - 1)
print("# positions: median %.1e, most %.1e; velocities: median %.1e, most %.1e; potentials: most %.1e"
      % (numpy.median(distance), distance.max(), numpy.median(speed), speed.max(), potential.max()))
# an error of 1e-3 of the acceleration (about 1) over a time of 1/8: 1e-4 in velocity, 1e-5 in position; close pairs more
sys.exit(not ((a[0] == b[0]).all() and numpy.median(distance) < 2e-5 and distance.max() < 1e-3
              and numpy.median(speed) < 2e-4 and speed.max() < 2e-2 and potential.max() < 1e-2))
END

espalier ic plummer -n 2000 -s 3 -o plummer.hdf5 > ic.log 2>&1 || { cat ic.log; exit 99; }
# go NAME RANKS THREADS OPTION...
go() {
  name=$1 ranks=$2 threads=$3
  shift 3
  OMP_NUM_THREADS=$threads ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n "$ranks" espalier run -P "Output:OutputDir=$name" "$@" run.ini > "$name.log" 2>&1 || {
    echo "# $name failed:"
    sed 's/^/# /' "$name.log" | tail -5
  }
  last=$(ls "$name"/snapshot_*.hdf5 | tail -n 1)
  cp "$last" "$name.hdf5"
  rows "$name/energy.csv" > "$name.csv"
}
# pair NAME RANKS THREADS TEXT OPTION...: twice the same
pair() {
  both=$1 count=$2 each=$3 text=$4
  shift 4
  go "${both}a" "$count" "$each" "$@"
  go "${both}b" "$count" "$each" "$@"
  "$python" same.py "${both}a.hdf5" "${both}b.hdf5"
  ok $? "$text: the same snapshot, bit by bit"
  test "$(wc -l < "${both}a.csv")" -ge 3 && cmp "${both}a.csv" "${both}b.csv"
  ok $? "$text: the same energies"
}
pair two 2 1 "two ranks of one thread, twice"
pair threads 1 2 "one rank of two threads, twice"
go one 1 1
check "one thread or two: the same snapshot, bit by bit" "$python" same.py one.hdf5 threadsa.hdf5
# renews NAME TEXT
renews() {
  awk -F, '$1 == "step" { for (k = 1; k <= NF; k++) at[$k] = k; next } !/^#/ && $at["level"] > 0 { if ($at["refreshed"] > 0) r++; if ($at["rebuilt"] == 1) b++ }
    END { exit !(r > 0 && b == r) }' "$1/substeps.csv"
  ok $? "$2: a new tree at every moment update within a soft step"
}
# builds NAME: of all rows
builds() { awk -F, '$1 == "step" { for (k = 1; k <= NF; k++) at[$k] = k; next } !/^#/ && $at["level"] > 0 && $at["rebuilt"] == 1 { b++ } END { print b + 0 }' "$1/substeps.csv"; }
go new 1 1 -P Device:Backend=cpu -P Output:SubstepLog=on
renews new "with the split on, one rank"
go newer 3 1 -P Device:Backend=cpu -P Output:SubstepLog=on
renews newer "with the split on, three ranks"
go lasts 1 1 -P Split:Mode=tree -P Device:Backend=cpu
pair blocks 2 1 "two ranks, block steps without the split, trees that are rebuilt, twice" -P Split:Mode=tree -P Gravity:RebuildInterval=2 -P Device:Backend=cpu -P Output:SubstepLog=on
renews blocksa "two ranks, block steps without the split"
go old 2 1 -P Split:Mode=tree -P Device:Backend=cpu -P Output:SubstepLog=on
test "$(builds old)" -eq 0 -a "$(builds blocksa)" -gt 4
ok $? "without RebuildInterval, new trees: $(builds old) within soft steps, RebuildInterval = 2: $(builds blocksa)"
"$python" near.py lasts.hdf5 blocksa.hdf5
ok $? "one rank and blocksa: positions, velocities and potentials agree within the criterion"
go three 3 1
go four 4 1
pair hard 3 1 "three ranks, balanced by what hard forces need, twice" -P Domain:Balance=hard
go time 4 1 -P Domain:Balance=time -P Domain:DomainGrid=1x4x1
go count 4 1 -P Domain:Balance=count -P Domain:DomainGrid=1x2x2
for other in twoa three four harda time count; do
  "$python" near.py one.hdf5 $other.hdf5
  ok $? "one rank and $other: positions, velocities and potentials agree within the criterion"
  # potentials have errors of up to about 2.5e-4 (99 %), and the total is half of the potential energy
  "$python" -c '
import sys
import csv
a, b = (list(csv.DictReader(open(name))) for name in sys.argv[1:3])
worst = max(abs(float(x["total"]) / float(y["total"]) - 1) for x, y in zip(a, b))
print("# energies differ by at most %.1e" % worst)
sys.exit(not (len(a) == len(b) and worst < 5e-4))' one.csv $other.csv
  ok $? "one rank and $other: energies agree to 5e-4"
done
# the comparison must see what differs
"$python" same.py one.hdf5 three.hdf5 > differ.log
test $? = 1 && grep -q differs differ.log
ok $? "the comparison sees the rounding of other sums"
finish
