#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier convert: particles from every format that is read to every one that is written, on one rank and on several.
. "${srcdir:-.}/tests/harness.sh"
converts() { says 0 "$1" -- espalier convert "$2" -o "$3" $4; }
launch 1 ic merger -n 700 -o m.hdf5 > ic.log 2>&1 || { cat ic.log; exit 99; }
check "HDF5 to GADGET 1" converts '^one.gad: 700 particles of m.hdf5 (Espalier' m.hdf5 one.gad '--to gadget1'
launch 3 convert m.hdf5 -o two.gad --to gadget2 --double > said 2> err
ok $? "HDF5 to GADGET 2 in double precision, on three ranks"
check "GADGET 2 to HDF5" converts '(GADGET 2, little endian); units: none: the numbers of a model' two.gad two.hdf5 \
  '--units nbody'
check "GADGET 1 to HDF5, in units" converts 'units: length 1 kpc, mass' one.gad one.hdf5 '--units gadget'
check "HDF5 to CSV" converts 'types and ids are not in a text' m.hdf5 m.csv
launch 2 convert m.hdf5 -o m.txt > said 2> err && grep -v '^#' m.csv | tr , ' ' > csv && grep -v '^#' m.txt | cmp - csv
ok $? "... to text on two ranks, the same numbers"
check "text to HDF5" converts '^text.hdf5: 700 particles of m.txt (ASCII' m.txt text.hdf5 '--units nbody'
with_python h5py
if [ -n "$python" ]; then
  cat > compare.py << 'END'
import struct
import sys
import h5py
import numpy as np
fields = "Coordinates Velocities Masses ParticleIDs".split()
def read(name):
    with h5py.File(name) as file:
        return ({(t, f): file[t][f][:] for t in ("PartType1", "PartType2") if t in file for f in fields},
                {k: v for k, v in file["Units"].attrs.items()})
start, units = read("m.hdf5")
whole, same_units = read("two.hdf5")
assert units == same_units and start.keys() == whole.keys()
assert all(np.array_equal(start[k], whole[k]) for k in start)
single, gadget = read("one.hdf5")
assert all(np.array_equal(start[k].astype("f4") if k[1] != "ParticleIDs" else start[k], single[k]) for k in start)
assert abs(gadget["UnitLength_in_cm"] / 3.085678e21 - 1) < 1e-6 and abs(gadget["UnitMass_in_g"] / 1.989e43 - 1) < 1e-3
text, _ = read("text.hdf5")
assert all(np.array_equal(np.concatenate([start[t, f] for t in ("PartType1", "PartType2")]), text["PartType1", f])
           for f in fields[:3])
# the layout of format 1, from the documentation of GADGET-2
data = open("one.gad", "rb").read()
number = struct.unpack("<6I", data[4:28])
assert struct.unpack("<I", data[:4]) == struct.unpack("<I", data[260:264]) == (256,)
assert number == struct.unpack("<6I", data[100:124]) == (0, 350, 350, 0, 0, 0)
at = 264
for f, width in zip(("Coordinates", "Velocities", "ParticleIDs", "Masses"), (12, 12, 4, 4)):
    size = 700 * width
    assert struct.unpack("<I", data[at:at + 4]) == struct.unpack("<I", data[at + 4 + size:at + 8 + size]) == (size,), f
    block = np.frombuffer(data[at + 4:at + 4 + size], "<u4" if f == "ParticleIDs" else "<f4")
    assert np.array_equal(block, np.concatenate([start[t, f].ravel() for t in ("PartType1", "PartType2")]).astype(
        block.dtype)), f
    at += size + 8
assert at == len(data)
assert open("two.gad", "rb").read()[:8] == struct.pack("<I4s", 8, b"HEAD")
END
  "$python" compare.py > said 2> err
  ok $? "values, ids, types and units; the layout of GADGET 1"
else
  skip "values, ids, types and units; the layout of GADGET 1" "no python3 has h5py"
fi
cat > run.ini << 'END'
[Input]
InitCondFile = two.hdf5
[Output]
OutputDir = out
[Time]
TimeMax = 0.0625
[Gravity]
Softening = 0.05
END
check "a run from a file that was converted" says 0 'done: time 0.0625' -- espalier run run.ini
check "refused: a file without units to HDF5" says 1 'one.gad states no units.*--units galaxy, cluster, pc-myr' -- \
  espalier convert one.gad -o new.hdf5
check "refused: units of a file that states its own" says 1 'm.hdf5 states its units: leave out --units' -- \
  espalier convert m.hdf5 -o new.hdf5 --units galaxy
check "refused: unknown units" says 1 "found 'parsec'" -- espalier convert one.gad -o new.hdf5 --units parsec
check "refused: the file itself" says 1 'm.hdf5: is the file to read' -- espalier convert m.hdf5 -o m.hdf5 --overwrite
check "refused: a file that exists" says 1 'm.csv: already exists' -- espalier convert m.hdf5 -o m.csv
check "refused: a name without a format" says 2 'option --to is missing' -- espalier convert m.hdf5 -o new.dump
check "refused: a format that is not written" says 2 "expected hdf5, gadget1, gadget2 or ascii, found 'tipsy'" -- \
  espalier convert m.hdf5 -o new.hdf5 --to tipsy
check "refused: --double of a text" says 2 'option --double' -- espalier convert m.hdf5 -o new.txt --double
check "refused: what is no file of particles" says 1 'run.ini' -- espalier convert run.ini -o new.txt
[ -z "$(find . -name 'new.*' -o -name '*.tmp')" ]
ok $? "nothing is left of what was refused"
finish
