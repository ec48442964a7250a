#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Domains and forces on other numbers of ranks than that of make check, also more than there are particles.
. "${srcdir:-.}/tests/harness.sh"
# on RANKS CHECKS TEST ARGUMENT...: so many checks at least, and all pass. MOST_RANKS: no more ranks than that (64).
on() {
  n=$1 least=$2
  [ "$n" -le "${MOST_RANKS:-64}" ] || return 0
  shift 2
  OMP_NUM_THREADS=1 ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n "$n" "$@" > "ranks-$n.out" 2> "ranks-$n.err"
  status=$?
  number=$((number + 1))
  count=$(grep -c '^ok ' "ranks-$n.out")
  if [ $status = 0 ] && has "ranks-$n.out" "^1\.\.$count\$" && [ "$count" -gt "$least" ]; then
    echo "ok $number - $1, $n ranks: $count checks"
  else
    echo "not ok $number - $1, $n ranks: status $status, $count checks passed"
    grep -v '^ok ' "ranks-$n.out" | sed 's/^/# /'
    sed 's/^/# /' "ranks-$n.err" | head -20
    failed=1
  fi
  rm -f "ranks-$n.out" "ranks-$n.err"
}
for n in 1 2 3 7 16 64; do on $n 20 tests/force_ranks.mpi short; done
on 5 10 tests/force_ranks.mpi far
for n in 1 3 7 8; do on $n 20 tests/domain_ranks.mpi; done
for n in 1 2 3 7; do on $n 30 tests/cuts_ranks.mpi; done
for n in 2 7 16; do on $n 20 tests/halo_ranks.mpi; done
for n in 1 2 3 4 7 16; do on $n 20 tests/stages_ranks.mpi; done
for n in 1 3 7; do on $n 20 tests/energy_ranks.mpi; done
for n in 1 2 3 5 8; do on $n 60 tests/fof_ranks.mpi; done
# messages in one piece: MPI is declared to accept device memory, which here is host memory
ESPALIER_CUDA_MPI=1
export ESPALIER_CUDA_MPI
for n in 2 3 7; do on $n 20 tests/force_ranks.mpi short cpu; done
unset ESPALIER_CUDA_MPI
# Domains do not cut the cells of a sphere in eight: no more interactions than on one rank, where cut ones had made them 1.6 times as many.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
printf '[Input]\nInitCondFile = %s\n[Output]\nOutputDir = %s\n[Units]\nGravityConstantInternal = 1\n[Gravity]\nSoftening = 0.004\n' p.hdf5 "$dir" > p.ini
espalier ic hernquist -n 60000 -o p.hdf5 > /dev/null
interactions() {
  OMP_NUM_THREADS=1 ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n "$1" espalier force -P Split:Mode=tree p.ini | awk '/^per particle/ { print $3 + $5 }'
}
one=$(interactions 1) eight=$(interactions 8)
number=$((number + 1))
if awk "BEGIN { exit !($one > 0 && $eight < 1.25 * $one) }"; then echo "ok $number - interactions of a particle on 8 ranks: $eight, on one $one"; else
  echo "not ok $number - interactions of a particle on 8 ranks: $eight, on one $one"
  failed=1
fi
finish
