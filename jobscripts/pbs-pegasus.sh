#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A run with NQSV, whose scripts have PBS lines, and Open MPI, as on Pegasus: one H100 with 48 cores a node. Change the
# lines marked CHANGE, then in the run's folder: qsub -v parameters=run.ini pbs-pegasus.sh
#
#PBS -N espalier
#PBS -A PROJECT
#PBS -q gpu
#PBS -b 8
#PBS -l elapstim_req=24:00:00
#PBS -T openmpi
#PBS -v NQSV_MPI_VER=VERSION
#PBS -v OMP_NUM_THREADS=48
#PBS -j o
# CHANGE all of these: project, queue, nodes, time, version of Open MPI (as in 'module avail openmpi'), cores of a rank.
#
# The run ends itself in time, by --walltime. A long run is a chain of jobs, submitted beforehand; each goes on where
# the one before it stopped, and those left over when the run has finished end at once. qsub answers with the number of
# the job:
#   qsub -v parameters=run.ini pbs-pegasus.sh
#   qsub --after NUMBER -v parameters=run.ini pbs-pegasus.sh
set -eu

walltime=24:00:00    # CHANGE: as elapstim_req
nodes=8              # CHANGE: as -b
cd "$PBS_O_WORKDIR"
module load "openmpi/$NQSV_MPI_VER"    # CHANGE: and the others that espalier was built with
export OMP_PLACES=cores OMP_PROC_BIND=close

espalier --version

# One rank a node has all of its cores. NQSV_MPIOPTS comes from the batch system.
# shellcheck disable=SC2086
exec espalier-job --walltime "$walltime" "${parameters:?usage: qsub -v parameters=FILE.ini pbs-pegasus.sh}" \
  mpirun ${NQSV_MPIOPTS-} -np "$nodes" -npernode 1 --bind-to none
