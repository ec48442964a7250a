#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# More ranks than devices: 2, 3, 4, 6 and 8 ranks share the devices of this host, in block steps in which fast particles
# have trees and LETs of their own. A run keeps energy as that of one rank does, and leaves the same bits when repeated.
# Skipped without a device.
. "${srcdir:-.}/tests/harness.sh"
espalier info | grep -q 'cuda *device' || skip_all "no device"
model hernquist -n 20000 -s 3
parameters run.ini Input:InitCondFile=../ic.hdf5 Output:OutputDir=out Output:SubstepLog=on Time:TimeMax=0.0625 \
  Time:MaxSizeTimestep=0.03125 Gravity:Softening=0.004 Gravity:WalkMethod=groups Split:Mode=tree Steps:Scheme=block \
  Steps:Criterion=a Steps:Eta=0.5 Device:Tuning=frozen Device:Backend=cuda Output:TimeBetStatistics=1e-9
# column TABLE NAME: of the rows
column() {
  awk -F, -v name="$2" '/^#/ { next } !at { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' \
    "$1/out/$3"
}
# drift RUN: the largest relative change of the total energy
drift() { column "$1" total energy.csv | awk 'NR == 1 { e = $1 } { d = $1 / e - 1; if (d < 0) d = -d; if (d > w) w = d }
  END { printf "%.3e", w }'; }
go one 1
check "one rank: a run" [ $status = 0 ]
bound=$(drift one)
for ranks in 2 3 4 6 8; do
  go first$ranks $ranks && go second$ranks $ranks
  error=$(drift first$ranks)
  [ $status = 0 ] && column first$ranks rebuilt substeps.csv | grep -q 2 && holds "$error < 2 * $bound + 1e-6"
  ok $? "$ranks ranks: a run with trees of fast particles, energy to $error, of one rank $bound"
  check "$ranks ranks: the same snapshots and tables again" same first$ranks second$ranks
done
finish
