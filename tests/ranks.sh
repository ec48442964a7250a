#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Forces on other numbers of ranks than that of make check, also more than there are particles.
number=0 failed=0
for n in 1 2 3 7; do
  # shellcheck disable=SC2086
  OMP_NUM_THREADS=1 ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n $n tests/force_ranks.mpi short > ranks-$n.out 2> ranks-$n.err
  status=$?
  number=$((number + 1))
  count=$(grep -c '^ok ' ranks-$n.out)
  if [ $status = 0 ] && grep -q "^1\.\.$count\$" ranks-$n.out && [ "$count" -gt 20 ]; then
    echo "ok $number - $n ranks: $count checks"
  else
    echo "not ok $number - $n ranks: status $status, $count checks passed"
    grep -v '^ok ' ranks-$n.out | sed 's/^/# /'
    sed 's/^/# /' ranks-$n.err | head -20
    failed=1
  fi
  rm -f ranks-$n.out ranks-$n.err
done
echo "1..$number"
exit $failed
