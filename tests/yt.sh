#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# yt opens every kind of snapshot and finds its particles, mass, units and time.
set -u
mpirun="${MPIRUN:-mpirun --oversubscribe} ${MPIRUN_FLAGS-}"
echo 1..3
if ! /usr/bin/python3 -c 'import yt' 2>/dev/null; then
  for k in 1 2 3; do echo "ok $k - yt # SKIP /usr/bin/python3 has no yt (Debian: python3-yt)"; done
  exit 0
fi
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
mass=$(timeout 60 $mpirun -n 2 ./tests/make_snapshot "$folder/yt_000.hdf5" 2>"$folder/log") &&
  timeout 60 $mpirun -n 2 ./tests/make_snapshot "$folder/yt_001.hdf5" 2 >"$folder/log" 2>&1 || { sed 's/^/# /' "$folder/log"; echo "not ok 1 - no snapshot: $mass"; exit 1; }
cat >"$folder/look.py" <<'END'
import sys
import yt
yt.set_log_level(50)
ds = yt.load(sys.argv[1])
data = ds.all_data()
mass = sum(float(data[t, "Masses"].sum().in_units("Msun")) for t in ("PartType0", "PartType1", "PartType2"))
expected = float(sys.argv[2]) * 1e10
print("# yt %s, %s: %g Msun, expected %g; %s %s %s" % (yt.__version__, ds.dataset_type, mass, expected, ds.length_unit,
      ds.mass_unit, ds.velocity_unit))
assert ds.dataset_type == "gadget_hdf5"
assert abs(mass / expected - 1) < 1e-6
assert abs(float(ds.length_unit.in_units("cm")) / 3.085678e21 - 1) < 1e-4
assert abs(float(ds.mass_unit.in_units("g")) / 1.989e43 - 1) < 1e-3
assert abs(float(ds.velocity_unit.in_units("cm/s")) / 1e5 - 1) < 1e-6
assert float(ds.current_time) == 0.75
assert len(data["PartType1", "Acceleration"]) == 200
assert sum(len(data[t, "ParticleIDs"]) for t in ("PartType0", "PartType1", "PartType2")) == 600
END
# the single file, the virtual one, and the first of several
number=0
for name in yt_000.hdf5 yt_001.hdf5 snapdir_001/yt_001.0.hdf5; do
  number=$((number + 1))
  if (cd "$folder" && timeout 120 /usr/bin/python3 look.py $name "$mass") >"$folder/out" 2>"$folder/errors"; then
    cat "$folder/out"
    echo "ok $number - yt finds particles, mass, units and time in $name"
  else
    sed 's/^/# /' "$folder/errors"
    echo "not ok $number - yt finds particles, mass, units and time in $name"
  fi
done
