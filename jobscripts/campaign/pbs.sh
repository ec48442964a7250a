#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A scaling study's job on @RANKS@ ranks, for PBS Professional: all points and repeats one after the other.
# Words between two @ are filled in by 'scaling make'. Change the lines marked CHANGE.
#PBS -N @NAME@
#PBS -q regular-g
#PBS -W group_list=GROUP
#PBS -l select=@NODES@:mpiprocs=@RANKS_PER_NODE@:ompthreads=@THREADS@
#PBS -l walltime=@TIME@
#PBS -j oe
# CHANGE: queue, group
set -eu
cd "@DIRECTORY@"
# module load gcc ompi-cuda cuda phdf5    CHANGE
export OMP_NUM_THREADS=@THREADS@ OMP_PLACES=cores OMP_PROC_BIND=close
exec ./point.sh @RANKS@ all \
  mpirun -n @RANKS@ --map-by "ppr:@RANKS_PER_NODE@:node:PE=@THREADS@" --bind-to core
