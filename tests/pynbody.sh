#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# pynbody opens every kind of snapshot and finds its particles, mass, units and time. ESPALIER_PYNBODY names a python3 that has
# pynbody (from PyPI).
set -u
mpirun="${MPIRUN:-mpirun --oversubscribe} ${MPIRUN_FLAGS-}"
echo 1..3
python=
for p in ${ESPALIER_PYNBODY:+"$ESPALIER_PYNBODY"} python3 /usr/bin/python3; do
  if "$p" -c 'import pynbody' 2> /dev/null; then python=$p; break; fi
done
if [ -z "$python" ]; then
  for k in 1 2 3; do echo "ok $k - pynbody # SKIP no python3 has pynbody (pip install pynbody; ESPALIER_PYNBODY names the python3)"; done
  exit 0
fi
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
mass=$(timeout 60 $mpirun -n 2 ./tests/make_snapshot "$folder/pb_000.hdf5" 2>"$folder/log") &&
  timeout 60 $mpirun -n 2 ./tests/make_snapshot "$folder/pb_001.hdf5" 2 >"$folder/log" 2>&1 ||
  { sed 's/^/# /' "$folder/log"; echo "not ok 1 - no snapshot: $mass"; exit 1; }
cat >"$folder/look.py" <<'END'
import sys
import pynbody
snap = pynbody.load(sys.argv[1])
mass = float(snap["mass"].sum().in_units("Msol"))
expected = float(sys.argv[2]) * 1.989e43 / 1.98841e33
print("# pynbody %s, %s: %d particles, %g Msol (expected %g), time %s, lengths in %s" % (pynbody.__version__, type(snap).__name__, len(snap), mass,
      expected, snap.properties["time"], snap["pos"].units))
assert isinstance(snap, pynbody.snapshot.gadgethdf.GadgetHDFSnap)
assert len(snap) == 600 and len(snap.gas) == 200 and len(snap.dm) == 400
assert abs(mass / expected - 1) < 1e-3
assert abs(float((1 * snap["pos"].units).in_units("kpc")) / 1.0 - 1) < 1e-3
assert abs(float((1 * snap["vel"].units).in_units("km s**-1")) - 1) < 1e-3
# 0.75 kpc / (km/s)
assert abs(float(snap.properties["time"].in_units("Gyr")) / (0.75 * 3.085678e16 / 3.15576e16) - 1) < 1e-3
assert len(set(snap["iord"])) == 600
END
number=0
# the single file, the virtual one, and several by their common name
for name in pb_000.hdf5 pb_001.hdf5 snapdir_001/pb_001; do
  number=$((number + 1))
  if (cd "$folder" && timeout 120 "$python" look.py $name "$mass") >"$folder/out" 2>"$folder/errors"; then
    cat "$folder/out"
    echo "ok $number - pynbody finds particles, mass, units and time in $name"
  else
    sed 's/^/# /' "$folder/out" "$folder/errors"
    echo "not ok $number - pynbody finds particles, mass, units and time in $name"
  fi
done
