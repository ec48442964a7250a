#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck disable=SC2046  # words
# Build tests with the kernels of gpu/ run by an emulator of CUDA on the CPU: lanes are fibers, blocks and kernels
# follow each other. It shows what the kernels compute, and with -fsanitize=address in CXXFLAGS where they reach; no
# times, no races between streams, nothing that CUDA itself does.
# Usage, from a configured and built tree:  emulate.sh SOURCE BUILD TEST OUT [TEST OUT]...
# For example:  emulate.sh .. . walk walk-emulated
# LANES=64 emulates warps of 64 lanes, as AMD's devices have them.
# Neither nvcc nor CUDA's headers are needed, whether or not the tree was configured with CUDA.
set -e
[ $# -ge 4 ] && [ $(($# % 2)) -eq 0 ] || { sed -n '4,/^set/s/^# //p' "$0" >&2; exit 2; }
source=$(realpath "$1") build=$(realpath "$2") here=$(dirname "$(realpath "$0")")
shift 2
tests=() outs=()
while [ $# -gt 0 ]; do tests+=("$1") outs+=("$(realpath -m "$2")"); shift 2; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
variable() { sed -n "s/^$1 = //p" "$build/Makefile" | head -n 1; }
mkdir "$work/objects" "$work/tests"
cd "$source"
includes="-DHAVE_CONFIG_H -DESP_HAVE_GPU=1 -I$build -I$source/src -I$source -I$source/tests $(variable HDF5_CPPFLAGS)"
# Instructions for what kernels do most, where the CPU has them; sums are rounded as without.
fast=
for flag in popcnt fma bmi lzcnt avx2; do
  [ "$flag" != lzcnt ] || grep -q -w -m 1 abm /proc/cpuinfo || continue
  [ "$flag" = lzcnt ] || grep -q -w -m 1 "${flag/bmi/bmi1}" /proc/cpuinfo || continue
  fast="$fast -m$flag"
done
plus="-std=c++17 -O2$fast -ffp-contract=off -mno-red-zone -g1 -fno-strict-aliasing"
plus="$plus -w -DESP_EMULATED -DEMU_LANES=${LANES:-32} -I$here/inc $includes $CXXFLAGS"
c="-std=gnu11 -O2 -g1 -fopenmp -w $includes $CXXFLAGS"
for file in gpu/*/*.cu "$here/emu.cc"; do
  printf '%s\n' "g++ -x c++ $plus -c $file -o $work/objects/$(echo "$file" | tr / _).o"
done > "$work/commands"
# Which backends there are. With CXXFLAGS also what these tests call; the rest is in the library, without.
files=("$source"/src/backend/*.c "$source"/gpu/*/*.c)
[ -z "$CXXFLAGS" ] || files+=("$source"/src/{base,cpu,gravity,params,particles,tree}/*.c "$source"/mpi/{,let/}*.c)
for file in "${files[@]}"; do
  case $file in */walk_isa.c) continue ;; esac
  printf '%s\n' "mpicc $c -c $file -o $work/objects/$(echo "$file" | tr / _).o"
done >> "$work/commands"
for test in "${tests[@]}"; do
  printf '%s\n' "mpicc $c -c $source/tests/$test.c -o $work/tests/${test##*/}.o"
done >> "$work/commands"
xargs -P "$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)" -I{} sh -c '{}' < "$work/commands"
for k in "${!tests[@]}"; do
  g++ -g -fopenmp $CXXFLAGS "$work/tests/${tests[k]##*/}.o" "$work"/objects/*.o "$build/libespalier.a" \
    "$build"/libkernels_*.a $(variable HDF5_LDFLAGS) $(variable HDF5_LIBS) \
  $(variable ESP_LIBS) -lpthread -ldl -lrt -lm $(mpicc --showme:link) -o "${outs[k]}"
done
