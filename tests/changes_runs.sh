#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs from a snapshot of the library whose masses had changed: the energy that changes had put in stays, to its bits,
# in energy.csv, in snapshots and over restarts, and the error does not jump.
. "${srcdir:-.}/tests/harness.sh"
$(starter 2) "$here/tests/changes.mpi" stars.hdf5 > made < /dev/null || { cat made; exit 99; }
parameters run.ini Input:InitCondFile=../stars.hdf5 Output:OutputDir=out Output:TimeBetSnapshot=0.015625 \
  Output:TimeBetStatistics=1e-9 Output:SubstepLog=on Time:TimeMax=0.03125 Gravity:Softening=0 \
  Accuracy:Accuracy=1e-6 Accuracy:Repeatable=on Device:Tuning=frozen Device:Backend=cpu Checkpoints:CheckpointAtEnd=on
# kept NAME: all rows of energy.csv have the energy of changes of the file, and the total the energy of the file
kept() {
  columns "$1/out/energy.csv" energy_changes total | awk -v made="$(cat made)" '
    BEGIN { split(made, file, " ") }
    { if ($1 != sprintf("%.15g", file[1])) other++; d = $2 / file[2] - 1; if (d < 0) d = -d; if (d > worst) worst = d }
    END { printf "# %d rows, %d with other changes; the energy is at most %.1e off\n", NR, other, worst
      exit !(NR > 8 && other == 0 && file[1] > 1e-4 && worst < 1e-6) }'
}
for ranks in 1 3; do
  go whole$ranks $ranks
  ends 0 && kept whole$ranks
  ok $? "$ranks ranks: the changes of the file are in all rows"
  go parts$ranks $ranks -n 2
  cp -r parts$ranks from$ranks
  go parts$ranks $ranks -r
  ends 0 && has parts$ranks/log 'restart from' && kept parts$ranks && same whole$ranks parts$ranks
  ok $? "$ranks ranks: after a restart too, with the same bits"
done
for ranks in 1 4; do
  rm -rf to && cp -r from3 to
  go to $ranks -r
  ends 0 && has to/log '(of 3 ranks)' && kept to
  ok $? "from 3 ranks to $ranks: the changes are the same"
done
# A run from a snapshot of the run.
parameters run.ini Input:InitCondFile=../to/out/snapshot_001.hdf5 Output:OutputDir=out Output:TimeBetStatistics=1e-9 \
  Output:TimeBetSnapshot=0.015625 Time:TimeMax=0.03125 Gravity:Softening=0 Accuracy:Accuracy=1e-6
go snapshot 3
ends 0 && kept snapshot
ok $? "a run from its snapshot has them"
finish
