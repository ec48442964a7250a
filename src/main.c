/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <mpi.h>
#include <stdio.h>

#include "comm.h"
#include "commands.h"

int main(int argc, char **argv)
{
  struct comm c;
  MPI_Init(&argc, &argv);
  comm_open(&c, MPI_COMM_WORLD);
  fatal_context(c.rank, -1);
  int status = commands_run(&c, argc, argv);
  comm_close(&c);
  MPI_Finalize();
  return status;
}
