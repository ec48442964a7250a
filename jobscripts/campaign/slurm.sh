#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A scaling study's job on @RANKS@ ranks: one task of the array for each point and repeat, one after the other on equal
# nodes.
# Words between two @ are filled in by 'scaling make'. Change the lines marked CHANGE.
#SBATCH --job-name=@NAME@
#SBATCH --array=1-@TASKS@%1
#SBATCH --nodes=@NODES@
#SBATCH --ntasks-per-node=@RANKS_PER_NODE@
#SBATCH --cpus-per-task=@THREADS@
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time=@TIME@
#SBATCH --output=jobs/%x-%A-%a.log
##SBATCH --gpus-per-node=@RANKS_PER_NODE@    CHANGE: on nodes with GPUs take one of the two # away
##SBATCH --switches=1                        CHANGE: nodes next to each other, so that repeats compare
# jobs/: 'scaling submit' calls sbatch in the study's folder.
set -eu
# module load gcc openmpi hdf5               CHANGE
export OMP_NUM_THREADS=@THREADS@ OMP_PLACES=cores OMP_PROC_BIND=close
exec "@DIRECTORY@/point.sh" @RANKS@ "$SLURM_ARRAY_TASK_ID" \
  mpirun -n @RANKS@ --map-by "ppr:@RANKS_PER_NODE@:node:PE=@THREADS@" --bind-to core
