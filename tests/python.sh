#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# pyespalier over the library of this build: errors, steps, particles, files, and the bits of a run of the program. The package is
# used from the source tree; its wheel is for doc/python.md.
. "${srcdir:-.}/tests/harness.sh"
with_python numpy || skip_all "no Python with numpy"
if ldd lib/libespalier.so 2> /dev/null | grep -q libasan; then
  echo "1..0 # SKIP the library has a sanitizer, and Python has none"
  exit 0
fi
{
  for_model 0.25 0.25
  printf '%s\n' '[Gravity]' 'Softening = 0.01' '[Accuracy]' 'Repeatable = on' '[Device]' 'Tuning = frozen'
} > run.ini
OMP_NUM_THREADS=1
PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$src/python
ESPALIER_LIB=$here/lib/libespalier.so
export OMP_NUM_THREADS PYTHONDONTWRITEBYTECODE PYTHONPATH ESPALIER_LIB
launch 1 ic plummer -n 1000 -o ic.hdf5 > log 2>&1 && launch 1 run run.ini >> log 2>&1 || sed 's/^/# /' log
# two ranks without mpi4py: each gives its share, and the sums are those of both
cat > two.py << 'EOF'
import espalier
with espalier.Simulation(espalier.ic.plummer(1000), softening=0.05) as sim:
    sim.integrate(0.05)
    print("two", len(sim) < sim.total == 1000 and abs(sim.sums.mass - 1) < 1e-6 and sim.time == 0.05, flush=True)
EOF
${MPIRUN:-mpirun} $MPIRUN_FLAGS -n 2 "$python" two.py < /dev/null > two.log 2>&1
"$python" "$src/tests/python.py" . < /dev/null
