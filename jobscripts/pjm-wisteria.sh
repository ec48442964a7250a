#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A run with PJM (Fujitsu's Technical Computing Suite) and Open MPI on nodes with GPUs, as on Wisteria's Aquarius: eight
# A100 with 72 cores a node. Change the lines marked CHANGE, then in the run's folder: pjsub -x parameters=run.ini
# pjm-wisteria.sh
#
#PJM -N espalier
#PJM -g GROUP
#PJM -L rscgrp=regular-a
#PJM -L node=2
#PJM -L elapse=24:00:00
#PJM --mpi proc=16
#PJM -j
# CHANGE all of these: group, resource group, nodes, time, ranks (one for each GPU).
#
# PJM gives no warning before the end, and jobs cannot be submitted from the nodes: the run ends itself in time, by
# --walltime, and a long run is a step job, submitted beforehand, whose jobs run one after the other. Each goes on where
# the one before it stopped; those left over when the run has finished end at once. The first line answers with the
# number for the others:
#   pjsub --step -x parameters=run.ini pjm-wisteria.sh
#   pjsub --step --sparam jid=NUMBER -x parameters=run.ini pjm-wisteria.sh
set -eu

walltime=24:00:00        # CHANGE: as elapse
ranks_per_node=8         # CHANGE: GPUs of a node
threads=9                # CHANGE: cores of a node / ranks of a node
# module purge; module load gcc cuda ompi-cuda hdf5    # CHANGE: the modules that espalier was built with
cd "$PJM_O_WORKDIR"
export OMP_NUM_THREADS=$threads OMP_PLACES=cores OMP_PROC_BIND=close

espalier --version

exec espalier-job --walltime "$walltime" "${parameters:?usage: pjsub -x parameters=FILE.ini pjm-wisteria.sh}" \
  mpiexec -machinefile "$PJM_O_NODEINF" -n "$PJM_MPI_PROC" --map-by "ppr:$ranks_per_node:node:PE=$threads" \
  --bind-to core --report-bindings
