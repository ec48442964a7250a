#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# pynbody opens every kind of snapshot and finds its particles, mass, units and time, and draws by the recipe of
# doc/readers.md.
# ESPALIER_PYNBODY names a python3 that has pynbody (from PyPI). h5py: the recipe, with any python3 that has it.
. "${srcdir:-.}/tests/harness.sh"
. "$src/tests/recipe.sh"
mass=$(timeout 60 $(starter 2) "$here/tests/make_snapshot" pb_000.hdf5 2> err) &&
  timeout 60 $(starter 2) "$here/tests/make_snapshot" pb_001.hdf5 2 > said 2>&1 && recipe_snapshots
ok $? "snapshots"
with_python h5py
if [ -n "$python" ]; then
  : > look.py
  recipe h5py '' "$python"
  check "... and what it prints" test "$(cat said)" = "time 0.0, 2000 particles, mass 1, physical"
fi
python=
for p in ${ESPALIER_PYNBODY:+"$ESPALIER_PYNBODY"} python3 /usr/bin/python3; do
  if "$p" -c 'import pynbody' 2> /dev/null; then python=$p; break; fi
done
[ -n "$python" ] || { skip pynbody "no python3 has pynbody (pip install pynbody; ESPALIER_PYNBODY names the python3)"; \
  finish; }
cat > read.py << 'END'
import sys
import warnings
import pynbody
warnings.simplefilter("error")
snap = pynbody.load(sys.argv[1])
mass = float(snap["mass"].sum().in_units("Msol"))
expected = float(sys.argv[2]) * 1.989e43 / 1.98841e33
print("# pynbody %s, %s: %d particles, %g Msol (expected %g), time %s, lengths in %s"
      % (pynbody.__version__, type(snap).__name__, len(snap), mass, expected, snap.properties["time"],
         snap["pos"].units))
assert isinstance(snap, pynbody.snapshot.gadgethdf.GadgetHDFSnap)
assert len(snap) == 600 and len(snap.gas) == 200 and len(snap.dm) == 400
assert abs(mass / expected - 1) < 1e-3
assert abs(float((1 * snap["pos"].units).in_units("kpc")) / 1.0 - 1) < 1e-3
assert abs(float((1 * snap["vel"].units).in_units("km s**-1")) - 1) < 1e-3
assert abs(float((1 * snap["phi"].units).in_units("km**2 s**-2")) - 1) < 1e-3
assert abs(float((1 * snap["Acceleration"].units).in_units("km**2 s**-2 kpc**-1")) - 1) < 1e-3
# 0.75 kpc / (km/s)
assert abs(float(snap.properties["time"].in_units("Gyr")) / (0.75 * 3.085678e16 / 3.15576e16) - 1) < 1e-3
assert len(set(snap["iord"])) == 600
END
# the single file, the virtual one, and several by their common name
for name in pb_000.hdf5 pb_001.hdf5 snapdir_001/pb_001; do
  check "pynbody finds particles, mass, units and time in $name" try timeout 120 "$python" read.py $name "$mass"
done
# after the recipe: the mass in the units of the snapshot, and a velocity for which G is needed
cat > look.py << 'END'
total = float(snapshot["mass"].sum())
circular = float(pynbody.analysis.profile.Profile(snapshot.dm, rmin=0.5, rmax=1.5, nbins=3, ndim=3)["v_circ"][1])
print(f"# {total:g} {snapshot['mass'].units}, {circular:.4g} {snapshot['vel'].units}, {plt.gca().get_xlabel()}")
if kind == "model":
    assert abs(total - 1) < 1e-5 and 0.7 < circular < 1
else:
    assert abs(total / 1.00029e10 - 1) < 1e-4 and 0.7 < circular / 207.417 < 1 and str(snapshot["pos"].units) == "kpc"
END
recipe pynbody pynbody.png "$python"
finish
