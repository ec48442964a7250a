#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A run on CPU nodes with Slurm and Open MPI, for as many jobs as it takes. Change the lines marked CHANGE, then in the
# run's folder: sbatch slurm-cpu.sh run.ini
#
#SBATCH --job-name=espalier
#SBATCH --nodes=2                 # CHANGE
#SBATCH --ntasks-per-node=4       # CHANGE: ranks of a node; one for each NUMA domain (or socket) is a good start
#SBATCH --cpus-per-task=16        # CHANGE: cores of a rank; tasks x cpus = the cores of a node
#SBATCH --exclusive
#SBATCH --mem=0                   # all memory of the nodes
#SBATCH --time=24:00:00           # CHANGE
#SBATCH --output=%x-%j.log
#
# 15 minutes before the end the script gets SIGUSR1: the run writes a checkpoint and stops, and the job is queued again.
# CHANGE: two of the longest soft steps and a checkpoint must fit in. Slurm itself queues it again when a node fails.
#SBATCH --signal=B:USR1@900
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu

parameters=${1:?usage: sbatch slurm-cpu.sh FILE.ini}
# module load gcc openmpi hdf5    # CHANGE: the modules that espalier was built with

# One thread per core, next to each other. Slurm gives cpus-per-task in hardware threads where those are on:
# add --hint=nomultithread above to have one thread per core there.
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK OMP_PLACES=cores OMP_PROC_BIND=close
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK

espalier --version

# PE=n binds each rank to n cores; without it Open MPI ties all threads of a rank to one core, or to one socket.
exec espalier-job --again "scontrol requeue $SLURM_JOB_ID" "$parameters" \
  mpirun --map-by "ppr:$SLURM_NTASKS_PER_NODE:node:PE=$SLURM_CPUS_PER_TASK" --bind-to core --report-bindings
