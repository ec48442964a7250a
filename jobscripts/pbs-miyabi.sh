#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A run with PBS Professional (OpenPBS) and Open MPI, as on Miyabi-G: one GH200 with 72 cores a node. Change the lines
# marked CHANGE, then in the run's folder: qsub -v parameters=run.ini pbs-miyabi.sh
#
#PBS -N espalier
#PBS -q regular-g
#PBS -W group_list=GROUP
#PBS -l select=8:mpiprocs=1:ompthreads=72
#PBS -l walltime=24:00:00
#PBS -j oe
# CHANGE all of these: queue, group, nodes:ranks of a node:cores of a rank, time.
#
# PBS gives no warning before the end: the run ends itself in time, by --walltime. A long run is a chain of jobs,
# submitted beforehand; each goes on where the one before it stopped, and those left over when the run has finished end
# at once:
#   id=$(qsub -v parameters=run.ini pbs-miyabi.sh)
#   for k in 2 3 4 5; do id=$(qsub -W depend=afterany:$id -v parameters=run.ini pbs-miyabi.sh); done
set -eu

cd "$PBS_O_WORKDIR"
# module purge; module load gcc cuda ompi-cuda phdf5    # CHANGE: the modules that espalier was built with
ranks=$(wc -l < "$PBS_NODEFILE")                       # a line a rank
nodes=$(sort -u "$PBS_NODEFILE" | wc -l)
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-72} OMP_PLACES=cores OMP_PROC_BIND=close
# The job has just begun: what is left of it is what was asked for.
walltime=$(qstat -f "$PBS_JOBID" | sed -n 's/^ *Resource_List\.walltime = //p')

espalier --version

exec espalier-job --walltime "$walltime" "${parameters:?usage: qsub -v parameters=FILE.ini pbs-miyabi.sh}" \
  mpirun -n "$ranks" --map-by "ppr:$((ranks / nodes)):node:PE=$OMP_NUM_THREADS" --bind-to core --report-bindings
