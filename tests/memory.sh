#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Memory of the CPU backend: bytes of a rank at the peak for each of its particles, by the accounting of labelled
# memory. A bound is what was measured and 5 percent. Domains are of equal numbers of particles, so that the measurement
# does not depend on times, and Eta is given, since more block steps have more updates under way.
. "${srcdir:-.}/tests/harness.sh"
particles=100000
limit=300
model plummer -n $particles -s 3
parameters run.ini Output:OutputDir=run Time:TimeMax=0.125 Gravity:Softening=0.01 Domain:Balance=count \
  Device:Backend=cpu \
  Steps:Eta=2 $hybrid
# at_most BYTES RANKS MODE
at_most() {
  try launch "$2" run -v --overwrite --no-output -n 2 -P Split:Mode="$3" run.ini
  bytes=$(sed -n 's/^memory: at most \([0-9.]*\) MB per rank.*/\1/p' said |
    awk -v n=$particles -v r="$2" '{ print int(1e6 * $1 * r / n) }')
  [ $status = 0 ] && [ "${bytes:-0}" -gt 100 ] && [ "$bytes" -le "$1" ]
  ok $? "$2 ranks, $3: ${bytes:-no} bytes per particle, at most $1"
}
at_most 213 1 tree
at_most 221 1 hybrid
at_most 430 2 tree
at_most 335 2 hybrid
finish
