#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# How the program is launched: ranks in different working folders understand the command line alike; an MPI library
# without threads meets a sentence.
. "${srcdir:-.}/tests/harness.sh"

# -r FOLDER FILE.ini, where rank 1 sees no such folder
mkdir -p near/kept far
printf '[Input]\nInitCondFile = x\n[Output]\nOutputDir = o\n' > near/run.ini
# in_two_folders FRAGMENT ARGUMENT...: the sentence, from rank 0 alone, and status 1 or 2 without waiting
in_two_folders() {
  fragment=$1
  shift
  try timeout 60 ${MPIRUN:-mpirun} ${MPIRUN_FLAGS-} -n 1 -wdir "$dir/near" espalier "$@" : -n 1 \
    -wdir "$dir/far" espalier "$@"
  { [ $status = 1 ] || [ $status = 2 ]; } && has err "$fragment" && [ "$(grep -c '^espalier: ' err)" = 1 ]
  ok $? "ranks in two folders, $*: status $status"
}
in_two_folders 'espalier: error: .*kept' run -r kept run.ini
in_two_folders "option -r: expected last, .*found 'lost'" run -r lost run.ini

cat > plain.c << 'END'
#include <mpi.h>
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  int status = PMPI_Init_thread(argc, argv, required, provided);
  *provided = MPI_THREAD_SINGLE;
  return status;
}
END
# without effect where the library is linked statically, or a sanitizer wants to be first
if ! try ${CC:-mpicc} -shared -fPIC -o plain.so plain.c || ! LD_PRELOAD=$dir/plain.so try sh -c : ||
  ! ldd "$here/espalier" | grep -q libmpi || ldd "$here/espalier" | grep -q 'lib[a-z]*san'; then
  skip "an MPI library that grants no threads" "it cannot be pretended here"
else
  try env LD_PRELOAD="$dir/plain.so" timeout 60 espalier params
  [ $status != 0 ] && has err 'espalier: fatal: .*MPI_THREAD_FUNNELED' && [ ! -s said ]
  ok $? "an MPI library that grants no threads"
fi
finish
