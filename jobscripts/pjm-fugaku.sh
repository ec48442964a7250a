#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A run with PJM and Fujitsu MPI on CPU nodes, as on Fugaku: 48 cores in four groups (CMG) with a memory each, so four
# ranks a node. Change the lines marked CHANGE, then in the run's folder: pjsub -x parameters=run.ini pjm-fugaku.sh
#
#PJM -N espalier
#PJM -g GROUP
#PJM -L rscgrp=small
#PJM -L node=96
#PJM -L elapse=24:00:00
#PJM --mpi max-proc-per-node=4
#PJM -x PJM_LLIO_GFSCACHE=/vol0004
#PJM -j
# CHANGE all of these: group, resource group, nodes, time, ranks of a node, the volumes that the job reads from.
#
# PJM gives no warning before the end: the run ends itself in time, by --walltime. A long run is a step job, submitted
# beforehand, whose jobs run one after the other. Each goes on where the one before it stopped; those left over when the
# run has finished end at once. The first line answers with the number for the others:
#   pjsub --step -x parameters=run.ini pjm-fugaku.sh
#   pjsub --step --sparam jid=NUMBER -x parameters=run.ini pjm-fugaku.sh
set -eu

walltime=24:00:00    # CHANGE: as elapse
cd "$PJM_O_WORKDIR"
export PATH=$HOME/espalier/bin:$PATH    # CHANGE: where espalier is installed
# Fujitsu MPI binds the ranks of a node to a CMG each.
export OMP_NUM_THREADS=12 OMP_PLACES=cores OMP_PROC_BIND=close

espalier --version

# PLE_MPI_STD_EMPTYFILE: no empty output files of the other ranks.
export PLE_MPI_STD_EMPTYFILE=off
exec espalier-job --walltime "$walltime" "${parameters:?usage: pjsub -x parameters=FILE.ini pjm-fugaku.sh}" mpiexec
