/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/debug.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "mpi/comm.h"
#include "mpi/start.h"
#include "run/control.h"

int main(int argc, char **argv)
{
  struct comm c;
  int threads;
  control_before_mpi(argc > 1 && strcmp(argv[1], "run") == 0);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads); /* only the first thread of a rank calls MPI */
  control_after_mpi();
  start_traces();
  comm_open(&c, MPI_COMM_WORLD);
  fatal_context(c.rank, -1);
  if (threads < MPI_THREAD_FUNNELED)
    fatal("this MPI library does not support threads (it grants less than MPI_THREAD_FUNNELED): use a library that was "
          "built with threads");
  start_threads(&c);
  struct fault f = {""};
  int status = 1;
  debug_read(getenv("ESPALIER_DEBUG"), &f);
  if (comm_agree(&c, &f) == 0) status = commands_run(&c, argc, argv);
  else comm_print_fault(&c, "error", &f);
  if (ESP_CHECKS && memory_current()) fatal("%zu bytes of labelled memory were not given back", memory_current());
  comm_close(&c);
  MPI_Finalize();
  return status;
}
