#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# How the program is launched: ranks in different working folders understand the command line alike; an MPI library without threads
# meets a sentence.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
here=$PWD
. "${srcdir:-.}/tests/tap.sh"
shown="$dir/out $dir/err"
export OMP_NUM_THREADS=1
cd "$dir" || exit 99

# -r FOLDER FILE.ini, where rank 1 sees no such folder
mkdir -p near/kept far
printf '[Input]\nInitCondFile = x\n[Output]\nOutputDir = o\n' > near/run.ini
# in_two_folders FRAGMENT ARGUMENT...: the sentence, from rank 0 alone, and status 1 or 2 without waiting
in_two_folders() {
  fragment=$1
  shift
  # shellcheck disable=SC2086
  timeout 60 ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n 1 -wdir "$dir/near" "$here/espalier" "$@" : -n 1 -wdir "$dir/far" "$here/espalier" "$@" > out 2> err < /dev/null
  status=$?
  { [ $status = 1 ] || [ $status = 2 ]; } && grep -q "$fragment" err && [ "$(grep -c '^espalier: ' err)" = 1 ]
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
# shellcheck disable=SC2086
if ! ${CC:-mpicc} -shared -fPIC -o plain.so plain.c > out 2>&1 || ! LD_PRELOAD=$dir/plain.so sh -c : > out 2>&1 ||
  ! ldd "$here/espalier" | grep -q libmpi || ldd "$here/espalier" | grep -q 'lib[a-z]*san'; then
  ok 0 "an MPI library that grants no threads # SKIP it cannot be pretended here"
else
  LD_PRELOAD=$dir/plain.so timeout 60 "$here/espalier" params > out 2> err < /dev/null
  [ $? != 0 ] && grep -q 'espalier: fatal: .*MPI_THREAD_FUNNELED' err && [ ! -s out ]
  ok $? "an MPI library that grants no threads"
fi
echo "1..$number"
exit $failed
