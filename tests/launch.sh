#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# How the program is launched: ranks in different working folders understand the command line alike; an MPI library
# without threads meets a sentence; a process that crashes within malloc ends.
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

# shim NAME: NAME.so of NAME.c for LD_PRELOAD; fails where it would have no effect (the library of MPI is linked
# statically), or a sanitizer wants to be first
shim() {
  try ${CC:-mpicc} -shared -fPIC -o "$1.so" "$1.c" && LD_PRELOAD=$dir/$1.so try sh -c : &&
    ldd "$here/espalier" | grep -q libmpi && ! ldd "$here/espalier" | grep -q 'lib[a-z]*san'
}
cat > plain.c << 'END'
#include <mpi.h>
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  int status = PMPI_Init_thread(argc, argv, required, provided);
  *provided = MPI_THREAD_SINGLE;
  return status;
}
END
if shim plain; then
  try env LD_PRELOAD="$dir/plain.so" timeout 60 espalier params
  [ $status != 0 ] && has err 'espalier: fatal: .*MPI_THREAD_FUNNELED' && [ ! -s said ]
  ok $? "an MPI library that grants no threads"
else skip "an MPI library that grants no threads" "it cannot be pretended here"; fi

# A crash within malloc, after the start of MPI. Open MPI's handler prints the stack; where it calls malloc again, a
# process with threads waits for ever.
cat > crash.c << 'END'
#include <mpi.h>
#include <signal.h>
#include <unistd.h>
void *__libc_malloc(size_t size);
static int armed, inside;
int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
  struct sigaction now;
  sigaction(SIGSEGV, NULL, &now);
  if (now.sa_handler == SIG_DFL) _exit(77);
  armed = 1;
  return PMPI_Comm_rank(comm, rank);
}
void *malloc(size_t size)
{
  if (inside) _exit(write(2, "malloc within malloc\n", 21) < 0);
  if (armed) {
    inside = 1;
    raise(SIGSEGV);
  }
  return __libc_malloc(size);
}
END
if shim crash; then try env LD_PRELOAD="$dir/crash.so" timeout 60 espalier params; else status=77; fi
if [ $status = 77 ] || [ $status = 0 ]; then
  skip "a crash within malloc" "it cannot be pretended here, or has no handler"
else
  [ $status = 139 ] && has err 'Segmentation fault' && lacks err 'malloc within malloc'
  ok $? "a crash within malloc: the process prints its stack and ends (status $status)"
fi
finish
