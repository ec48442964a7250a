#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A run on CPU nodes under Slurm: change the lines marked CHANGE, then: sbatch slurm.sh
#
#SBATCH --job-name=espalier
#SBATCH --nodes=2                 # CHANGE
#SBATCH --ntasks-per-node=4       # CHANGE: ranks of a node; one for each NUMA domain (or socket) is a good start
#SBATCH --cpus-per-task=16        # CHANGE: cores of a rank; tasks x cpus = the cores of a node
#SBATCH --exclusive
#SBATCH --mem=0                   # all memory of the nodes
#SBATCH --time=04:00:00           # CHANGE
#SBATCH --output=%x-%j.log
set -eu

parameters=${1:-run.ini}          # sbatch slurm.sh FILE.ini
# module load gcc openmpi hdf5    # CHANGE: the modules that espalier was built with

# One thread per core, next to each other. Slurm gives cpus-per-task in hardware threads where those are on:
# add --hint=nomultithread above to have one thread per core there.
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK OMP_PLACES=cores OMP_PROC_BIND=close
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK

espalier --version
espalier run --check "$parameters"

# PE=n binds each rank to n cores; without it Open MPI ties all threads of a rank to one core, or to one socket.
mpirun --map-by "ppr:$SLURM_NTASKS_PER_NODE:node:PE=$SLURM_CPUS_PER_TASK" --bind-to core --report-bindings \
  espalier run "$parameters"
