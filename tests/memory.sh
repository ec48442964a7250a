#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Memory of the CPU backend: bytes of a rank at the peak for each of its particles, by the accounting of labelled memory. A bound is what
# was measured and 5 percent. Domains are of equal numbers of particles, so that the measurement does not depend on times,
# and Eta is given, since more block steps have more updates under way.
. "${srcdir:-.}/tests/harness.sh"
shown="out"
particles=100000
espalier ic plummer -n $particles -s 3 -o plummer.hdf5 > /dev/null || exit 99
cat > run.ini << END
[Input]
InitCondFile = $dir/plummer.hdf5
[Output]
OutputDir = $dir/run
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = 0.125
[Gravity]
Softening = 0.01
[Domain]
Balance = count
[Device]
Backend = cpu
[Split]
Mode = hybrid
[Steps]
Scheme = block
Eta = 2
END
# check RANKS MODE BYTES
check() {
  timeout 300 ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n "$1" espalier run -v --overwrite --no-output -n 2 -P Split:Mode="$2" run.ini \
    > out 2>&1 < /dev/null
  status=$?
  bytes=$(sed -n 's/^memory: at most \([0-9.]*\) MB per rank.*/\1/p' out | awk -v n=$particles -v r="$1" '{ print int(1e6 * $1 * r / n) }')
  [ $status = 0 ] && [ "${bytes:-0}" -gt 100 ] && [ "$bytes" -le "$3" ]
  ok $? "$1 ranks, $2: ${bytes:-no} bytes per particle, at most $3"
}
check 1 tree 213
check 1 hybrid 221
check 2 tree 430
check 2 hybrid 335
finish
