/* SPDX-License-Identifier: GPL-3.0-or-later */
/* make_snapshot FILE [FILES]: a snapshot of 600 particles in the default units, in so many files; prints its total
 * mass. For yt.sh and pynbody.sh. */
#include <config.h>
#include <mpi.h>

#include "files.h"
#include "io/snapshot/snapshot.h"

int main(int argc, char **argv)
{
  struct comm c;
  struct particles p;
  struct params par;
  struct fault f = {""};
  ranks_begin(&c, &argc, &argv);
  if (argc < 2) MPI_Abort(c.mpi, 99);
  params_defaults(&par);
  struct snapshot_facts facts = {
      .params = &par, .time = 0.75, .step = 3, .extras = 7, .files = argc > 2 ? atoi(argv[2]) : 1};
  particles_make(&p, &c, 600, 3);
  double mass = 0;
  for (int64_t i = 0; i < p.n; i++) mass += p.mass[i];
  comm_sum_double(&c, &mass, 1);
  int status = snapshot_write(&c, argv[1], &p, &facts, &f);
  if (c.rank == 0) printf(status == 0 ? "%.9g\n" : "%g %s\n", mass, f.text);
  particles_free(&p);
  comm_close(&c);
  MPI_Finalize();
  return status != 0;
}
