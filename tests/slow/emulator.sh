#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The kernels of gpu/ by the emulator of CUDA (tests/emulator): their results are right. Neither nvcc nor a device is
# needed. As many programs at a time as there are cores. ESPALIER_SANITIZE=all: all programs and all their trials, of
# which else there is a part (TEST_SAMPLE), and with AddressSanitizer, where there is one, so they reach for nothing
# that is not theirs; this takes four times as long. LANES=64: all programs and trials, with warps of so many lanes.
. "${srcdir:-.}/tests/slow/common.sh"
emulator=$src/tests/emulator
# the longest first
tests="neighbours walk lets unit_verbs contract verbs reorder"
if [ -z "${ESPALIER_SANITIZE:-}${LANES:-}" ]; then export TEST_SAMPLE=1; else
  tests="$tests softening margin massless lets_joined walk_active choices depth_first"
fi
[ -e "$src/gpu/walk/walk.cu" ] || skip_all "no gpu/"
command -v bash > /dev/null && command -v g++ > /dev/null && command -v mpicc > /dev/null ||
  skip_all "no bash, g++ or mpicc"
[ -e libespalier.a ] || skip_all "no libespalier.a: not a build folder"
build=$PWD
# shellcheck disable=SC2086
set -- $tests
plan $(($# + 1))
scratch "emulator${LANES:+-$LANES}"
cd "$scratch_dir" || exit 99
g++ -std=c++17 -w -I"$emulator/inc" -c "$emulator/emu.cc" -o emu.o > emu.log 2>&1 || {
  cd "$build" && rm -rf "$scratch_dir"
  echo "1..0 # SKIP g++ cannot compile the emulator: C++17 for x86-64 is needed"
  exit 0
}
CXXFLAGS=
echo 'int main() { return 0; }' > asan.cc
if [ "${ESPALIER_SANITIZE:-}" = all ]; then
  if g++ -fsanitize=address asan.cc -o asan > asan.log 2>&1 && ./asan; then
    export CXXFLAGS=-fsanitize=address
  else
    echo "# without AddressSanitizer, which g++ does not have"
  fi
fi
programs=
for test; do programs="$programs $test $test"; done
# shellcheck disable=SC2086
try 900 make.log "the tests are built with emulated kernels" bash "$emulator/emulate.sh" "$src" "$build" $programs ||
  give_up
# fibers change stacks by themselves; memory that MPI keeps is no leak
cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)   # nproc obeys these variables
# the CPU's own backend is the first tier's
export TEST_BACKEND=cuda OMP_NUM_THREADS=1 ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0
printf '%s\n' "$@" |
  xargs -P "$cores" -I{} sh -c 'timeout --kill-after=20 1500 ./{} > {}.log 2>&1 < /dev/null; echo $? > {}.status'
for test; do
  count=$(grep -c '^ok .* - cuda' "$test.log")
  [ "$(cat "$test.status")" = 0 ] && ! grep -q '^not ok' "$test.log" && [ "$count" -gt 0 ]
  status=$?
  result $status "$test: $count checks of emulated kernels"
  [ $status = 0 ] || { echo "# exit status $(cat "$test.status"); the end of $test.log:"; grep -v '^ok ' "$test.log" |
    tail -n 30 | sed 's/^/# | /'; }
done
finish
