/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <mpi.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
