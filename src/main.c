/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <mpi.h>
#include <stdio.h>

#include "comm.h"
#include "commands.h"
#include "memory.h"

int main(int argc, char **argv)
{
  struct comm c;
  int threads;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);   /* OpenMP inside, messages from the first thread alone */
  comm_open(&c, MPI_COMM_WORLD);
  fatal_context(c.rank, -1);
  int status = commands_run(&c, argc, argv);
  if (ESP_CHECKS && memory_current()) fatal("%zu bytes of labelled memory were not given back", memory_current());
  comm_close(&c);
  MPI_Finalize();
  return status;
}
