#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer find nothing: in the unit tests, in the tests by script
# (bad input above all), and in a hybrid run on three ranks. ESPALIER_SANITIZE=all: also in tests that take minutes
# under sanitizers, and in all trials of a kind, of which the others make a part (TEST_SAMPLE).
# ESPALIER_SANITIZE=unit: without the scripts, and the build stays for ESPALIER_SANITIZE=scripts (sanitized_scripts.sh),
# which runs these alone.
# ESPALIER_DETECT_LEAKS=0 leaves leaks out (LeakSanitizer cannot run where ptrace is forbidden).
. "${srcdir:-.}/tests/slow/common.sh"
part=${ESPALIER_SANITIZE:-some}
case $part in
  unit) plan 4; keep_scratch=1 ;;
  scripts) plan 1 ;;
  *) plan 5 ;;
esac
if [ "$part" != scripts ]; then scratch sanitizers; else scratch_dir=$PWD/slow-sanitizers; fi
cd "$scratch_dir" || exit 99

# Where leaks are searched for, stacks must be whole to tell whose memory it is, and Open MPI unloads its components
# before the search, which would then meet unknown code: so nothing is unloaded. Elsewhere stacks of allocations follow
# frame pointers, which takes a tenth of the time.
[ "$part" = scripts ] || echo 'int dlclose(void *handle) { (void)handle; return 0; }' > keep.c
[ "$part" = scripts ] || "${CC:-cc}" -shared -fPIC keep.c -o keep.so || exit 99
leaks=${ESPALIER_DETECT_LEAKS:-1}
export LSAN_OPTIONS="suppressions=$src/tests/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS="print_stacktrace=1"
asan="allocator_may_return_null=1:verify_asan_link_order=0"
leaking="$asan:detect_leaks=$leaks:fast_unwind_on_malloc=0" leakless="$asan:detect_leaks=0"
export ASAN_OPTIONS="$leaking"
export OMP_NUM_THREADS=2

# shellcheck disable=SC2016  # make expands these
units='$(unit_tests) $(mpi_tests)' scripts='$(sanitized_tests)'
if [ "$part" != all ]; then
  units="\$(filter-out \$(unsanitized_tests),$units)" scripts="\$(filter-out \$(unsanitized_tests),$scripts)"
  export TEST_SAMPLE=1
fi

# build_and_units: the build, its unit tests, and a hybrid run
build_and_units() {
  # Without --without-cuda the CUDA runtime would be linked, which ASan does not know.
  try 120 configure.log "a build with sanitizers can be configured" \
    "$src/configure" --enable-sanitizers --enable-checks --without-cuda CFLAGS="-O1 -g1" || give_up
  # The programs of the tests are built here, so that the next stages time tests only. Optimisation of what runs for a
  # moment only takes longer than its unoptimised code.
  # shellcheck disable=SC2016  # for the inner shell
  try 900 make.log "it compiles" sh -c '"$0" -j2 CFLAGS="-O0 -g1" libkernels_generic.a && "$0" -j2 &&
      "$0" -j2 CFLAGS="-O0 -g1" tests/unit_mail tests/unit_verbs tests/collisions tests/formats.mpi &&
      "$0" -j2 check TESTS= "$1"' "$MAKE" \
    "check_PROGRAMS=$units \$(test_helpers)" || give_up

  export LD_PRELOAD="$scratch_dir/keep.so"
  # Leaks are searched for in the hybrid run below (and by valgrind): gcc 12's search itself now and then crashes at the
  # end of a program that has done nothing wrong ("Tracer caught signal 11"), and the more programs, the more often. The
  # tests themselves check that all labelled memory is given back.
  export ASAN_OPTIONS="$leakless"
  try 1200 unit.log "unit tests run clean" "$MAKE" check TESTS="$units" check_PROGRAMS=

  export ASAN_OPTIONS="$leaking"
  hybrid ./espalier
  tail_lines=60
  try 300 hybrid.log "a hybrid run on 3 ranks is clean" sh ./hybrid.sh
}
# by_script: tests by script, of that build
by_script() {
  # 64 ranks of 300 MB each, as sanitizers make them, are too many for some machines, and more ranks than cores take
  # their time.
  export MOST_RANKS=3
  # A program that ends with an error may leave memory to the system, so leaks do not count here.
  export ASAN_OPTIONS="$leakless"
  # shellcheck disable=SC2016
  try 1800 scripts.log "tests by script run clean" "$MAKE" check TESTS="$scripts" check_PROGRAMS=
  echo "# the longest, in seconds of the clock and of processors:"
  sort -rn test-seconds | head -n 12 | sed 's/^/# /'
}
[ "$part" = scripts ] || build_and_units
export LD_PRELOAD="$scratch_dir/keep.so"
[ "$part" = unit ] || by_script
finish
