#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# valgrind's memcheck finds no wrong access, no use of undefined values and no lost memory in a hybrid run on three
# ranks.
. "${srcdir:-.}/tests/slow/common.sh"
command -v valgrind > /dev/null 2>&1 || skip_all "no valgrind (Debian: valgrind)"
program=$PWD/espalier
[ -x "$program" ] || skip_all "no program"
plan 2
scratch valgrind
cd "$scratch_dir" || exit 99

suppressions=--suppressions=$src/tests/valgrind.supp
openmpi=$(dirname "$(dirname "$(command -v mpirun || echo /usr/bin/mpirun)")")/share/openmpi/openmpi-valgrind.supp
[ ! -f "$openmpi" ] || suppressions="$suppressions --suppressions=$openmpi"
# valgrind 3.19 does not execute AVX-512, and it runs one thread at a time: threads that wait must sleep.
export ESPALIER_SIMD=avx2 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
hybrid_particles=400 hybrid_whole=no
hybrid "$program" valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite \
  --errors-for-leak-kinds=definite --num-callers=20 --log-file=valgrind.%p.log "$suppressions"
tail_lines=20
try 1200 hybrid.log "a hybrid run on 3 ranks ends well below valgrind" sh ./hybrid.sh
reports=$(cat valgrind.*.log 2> /dev/null)
if ls valgrind.*.log > /dev/null 2>&1 && [ -z "$reports" ]; then status=0; else status=1; fi
result "$status" "valgrind reports nothing"
[ -z "$reports" ] || echo "$reports" | head -n 80 | sed 's/^/# | /'
finish
