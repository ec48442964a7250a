#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Domains and forces on other numbers of ranks than that of make check, also more than there are particles. MOST_RANKS:
# no more ranks than that (64).
. "${srcdir:-.}/tests/harness.sh"
for n in 1 2 3 7 16; do   # slow/many_ranks.sh: 64
  on $n 20 force_ranks short
  on $n 10 step_ranks short
done
on 5 10 force_ranks far
for n in 1 3 7 8; do on $n 20 domain_ranks; done
for n in 1 2 3 7; do on $n 30 cuts_ranks short; done
for n in 2 7 16; do on $n 20 halo_ranks; done
for n in 1 2 3 7 16; do on $n 20 stages_ranks; done
for n in 1 7; do on $n 20 energy_ranks short; done
for n in 1 2 3 5 8; do on $n 60 fof_ranks; done
# messages in one piece: MPI is declared to accept device memory, which here is host memory
for n in 3 7; do
  ESPALIER_CUDA_MPI=1 on $n 20 force_ranks short cpu
  ESPALIER_CUDA_MPI=1 on $n 10 step_ranks short cpu
done
# Domains do not cut the cells of a sphere in eight: no more interactions than on one rank, where cut ones had made them
# 1.6 times as many.
parameters p.ini Gravity:Softening=0.004
model hernquist -n 60000
interactions() { launch "$1" force -P Split:Mode=tree p.ini | awk '/^per particle/ { print $3 + $5 }'; }
one=$(interactions 1) eight=$(interactions 8)
holds "${one:-0} > 0 && ${eight:-0} < 1.25 * ${one:-0}"
ok $? "interactions of a particle on 8 ranks: $eight, on one $one"
finish
