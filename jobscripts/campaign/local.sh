#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A scaling study's part on @RANKS@ ranks, on this machine: all points and repeats one after the other.
# Words between two @ are filled in by 'scaling make'.
set -eu
cd "@DIRECTORY@"
export OMP_NUM_THREADS=@THREADS@ OMP_PLACES=cores OMP_PROC_BIND=close
# --bind-to none: ranks may be more than cores. CHANGE it to --map-by slot:PE=@THREADS@ where they are not.
exec ./point.sh @RANKS@ all mpirun -n @RANKS@ --oversubscribe --bind-to none
