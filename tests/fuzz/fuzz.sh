#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# libFuzzer on one reader: fuzz.sh READER [SECONDS [OPTION OF LIBFUZZER]...]; see README.md. Started in a build folder
# after configure.
reader=$1 seconds=${2:-120}
test $# -lt 2 || shift
test $# -lt 1 || shift
here=$(cd "$(dirname "$0")" && pwd) && top=$(cd "$here/../.." && pwd)
case $reader in gadget | tipsy | ascii | hdf5 | ini | list | checkpoint) ;; *) sed -n 3p "$0"; exit 2 ;; esac
test -f config.h || { echo 'fuzz.sh: no config.h here: start it in a build folder, after configure' >&2; exit 2; }
work=$(pwd)/fuzz-$reader
mkdir -p "$work/corpus" "$work/found" fuzz-objects || exit 1
# A header that was changed: everything is compiled again.
test -z \
  "$(find "$top/src" "$top/mpi" \( -name '*.h' -o -name '*.def' \) -newer fuzz-objects/readers.a 2> /dev/null)" ||
  rm -f fuzz-objects/*.o
OMPI_CC=clang; export OMPI_CC   # Open MPI's compiler wrapper takes this one
# The sources that readers need, without OpenMP, which clang may lack.
flags="-std=gnu11 -g -O1 -Wno-source-uses-openmp -Wno-unknown-warning-option -fsanitize=fuzzer-no-link,address,undefined
  -fno-sanitize-recover=undefined -I. -Isrc -I$top/src -I$top $(sed -n 's/^HDF5_CPPFLAGS = //p' Makefile)"
for file in "$top"/src/base/*.c "$top"/src/particles/*.c "$top"/src/params/*.c "$top"/src/gravity/*.c \
  "$top"/src/io/*.c \
  "$top"/src/io/*/*.c "$top"/src/checkpoint/*.c "$top"/src/job/*.c "$top"/src/run/outputs.c "$top"/mpi/*.c; do
  object=fuzz-objects/$(echo "${file#"$top"/}" | tr / -).o
  # shellcheck disable=SC2086
  test "$object" -nt "$file" || mpicc $flags -c "$file" -o "$object" || exit 1
done
rm -f fuzz-objects/readers.a && ar cr fuzz-objects/readers.a fuzz-objects/*.o || exit 1
# shellcheck disable=SC2046,SC2086
mpicc $flags -fsanitize=fuzzer "$here/fuzz.c" -o fuzz-objects/fuzz fuzz-objects/readers.a \
  $(sed -n 's/^HDF5_LDFLAGS = //p; s/^HDF5_LIBS = //p; s/^ESP_LIBS = //p' Makefile) -lm || exit 1
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:suppressions=$here/asan.supp; UBSAN_OPTIONS=print_stacktrace=1
export ASAN_OPTIONS UBSAN_OPTIONS
FUZZ_READER=$reader FUZZ_SEEDS=$work/corpus fuzz-objects/fuzz > /dev/null 2>&1 ||
  { echo 'fuzz.sh: no files to begin with' >&2; exit 1; }
FUZZ_READER=$reader exec fuzz-objects/fuzz -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=65536 \
  -print_final_stats=1 \
  -artifact_prefix="$work/found/" "$@" "$work/corpus"
