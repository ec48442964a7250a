# SPDX-License-Identifier: GPL-3.0-or-later
# ESP_MPI: the C compiler must compile and link MPI programs.
AC_DEFUN([ESP_MPI], [
AC_ARG_VAR([MPIRUN], [command that starts an MPI program in 'make check'])
AC_ARG_VAR([MPIRUN_FLAGS], [its flags])
AC_ARG_VAR([NP], [number of ranks of the MPI tests in make check @<:@4@:>@])
AC_CACHE_CHECK([whether $CC links MPI], [esp_cv_mpi],
  [AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[MPI_Init(0, 0);]])],
    [esp_cv_mpi=yes], [esp_cv_mpi=no])])
AS_IF([test "x$esp_cv_mpi" = xno], [AC_MSG_FAILURE([no MPI: set CC to an MPI compiler])])
AC_COMPUTE_INT([esp_mpi_major], [MPI_VERSION], [#include <mpi.h>], [esp_mpi_major=0])
AC_COMPUTE_INT([esp_mpi_minor], [MPI_SUBVERSION], [#include <mpi.h>], [esp_mpi_minor=0])
AS_IF([test "$esp_mpi_major" -lt 3], [AC_MSG_FAILURE([MPI $esp_mpi_major.$esp_mpi_minor is too old: Espalier needs MPI 3.0])])
esp_mpi_version="$esp_mpi_major.$esp_mpi_minor"
AC_PATH_PROGS([MPIRUN], [mpirun mpiexec srun], [])
: ${NP=4}
])
