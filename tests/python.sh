#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# pyespalier over the library of this build: errors, steps, particles, files, and the bits of a run of the program. The
# package is used from the source tree; its wheel is for doc/python.md.
. "${srcdir:-.}/tests/harness.sh"
with_python numpy || skip_all "no Python with numpy"
! ldd "$here/lib/libespalier.so" 2> /dev/null | grep -q libasan ||
  skip_all "the library has a sanitizer, and Python has none"
parameters run.ini Output:TimeBetSnapshot=0.25 Output:TimeBetStatistics=1e-9 Time:TimeMax=0.25 Gravity:Softening=0.01 \
  Accuracy:Repeatable=on Device:Tuning=frozen
export PYTHONPATH="$src/python" ESPALIER_LIB="$here/lib/libespalier.so"
model plummer -n 1000
launch 1 run run.ini > log 2>&1 || sed 's/^/# /' log
# two ranks without mpi4py: each gives its share, and the sums are those of both
cat > two.py << 'EOF'
import espalier
with espalier.Simulation(espalier.ic.plummer(1000), softening=0.05) as sim:
    sim.integrate(0.05)
    print("two", len(sim) < sim.total == 1000 and abs(sim.sums.mass - 1) < 1e-6 and sim.time == 0.05, flush=True)
EOF
$(starter 2) "$python" two.py < /dev/null > two.log 2>&1
"$python" "$src/tests/python.py" . < /dev/null
