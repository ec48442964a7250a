#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A scaling study's job on @RANKS@ ranks, for PJM: all points and repeats one after the other.
# Words between two @ are filled in by 'scaling make'. Change the lines marked CHANGE.
#PJM -N @NAME@
#PJM -g GROUP
#PJM -L rscgrp=small
#PJM -L node=@NODES@
#PJM -L elapse=@TIME@
#PJM --mpi proc=@RANKS@
#PJM --mpi max-proc-per-node=@RANKS_PER_NODE@
#PJM -j
# CHANGE: group, resource group
set -eu
cd "@DIRECTORY@"
export OMP_NUM_THREADS=@THREADS@ OMP_PLACES=cores OMP_PROC_BIND=close
# CHANGE: with Open MPI (Aquarius) mpiexec -machinefile "$PJM_O_NODEINF" -n @RANKS@ --map-by
# "ppr:@RANKS_PER_NODE@:node:PE=@THREADS@"
exec ./point.sh @RANKS@ all mpiexec -n @RANKS@
