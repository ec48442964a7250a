# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# What the slow tests share. They run in the build folder, with srcdir set by Automake, and print TAP.
# A test is: `plan N`, then N times `try`, `skip` or `result`, then `finish`.
set -u
# shellcheck disable=SC2034  # for the tests
src=$(cd "${srcdir:-.}" && pwd) || exit 99
MPIRUN=${MPIRUN:-mpirun} MPIRUN_FLAGS=${MPIRUN_FLAGS-} MAKE=${MAKE:-make}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism="${OMPI_MCA_btl_vader_single_copy_mechanism:-none}"
# At each start hwloc reads the table of PCI devices, into memory that grows line by line: below sanitizers that was a
# second for each rank.
export HWLOC_COMPONENTS="${HWLOC_COMPONENTS:--pci}"
# The outer make hands its variables (TESTS=...) to every make below it; here they would run this very test again.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES TESTS TEST_LOGS TEST_SUITE_LOG DESTDIR
tap_number=0 tap_failed=0

plan() { echo "1..$1"; tap_planned=$1; }
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
# scratch NAME: an empty folder below the build folder, removed by `finish` when all went well, unless $keep_scratch is
# set.
scratch() {
  scratch_dir=$PWD/slow-$1
  chmod -R u+w "$scratch_dir" 2> /dev/null
  rm -rf "$scratch_dir" && mkdir "$scratch_dir" || exit 99
}
result() { # STATUS TEXT
  tap_number=$((tap_number + 1))
  if [ "$1" -eq 0 ]; then echo "ok $tap_number - $2"; else echo "not ok $tap_number - $2"; tap_failed=1; fi
}
skip() { tap_number=$((tap_number + 1)); echo "ok $tap_number - $1 # SKIP $2"; }
# try SECONDS LOG TEXT COMMAND...: one test; a failure shows the end of the log, which stays.
try() {
  seconds=$1 log=$2 text=$3
  shift 3
  timeout --kill-after=20 "$seconds" "$@" > "$log" 2>&1 < /dev/null
  status=$?
  result "$status" "$text"
  [ "$status" -eq 0 ] && return 0
  [ "$status" -ne 124 ] || echo "# stopped after $seconds s"
  echo "# exit status $status; what failed in $log, and its end:"
  grep -E '^(FAIL|ERROR|not ok|espalier: fatal)|fatal:|Sanitizer:|runtime error:' "$log" | head -n 20 | sed 's/^/# | /'
  tail -n "${tail_lines:-30}" "$log" | sed 's/^/# | /'
  return 1
}
# give_up: what could not be tried any more counts as failed.
give_up() { while [ "$tap_number" -lt "$tap_planned" ]; do result 1 "not reached"; done; finish; }
finish() {
  [ "$tap_failed" -ne 0 ] || [ -n "${keep_scratch-}" ] ||
    { chmod -R u+w "$scratch_dir" 2> /dev/null; rm -rf "$scratch_dir"; }
  exit "$tap_failed"
}
# hybrid PROGRAM [WRAPPER...]: write hybrid.ini and hybrid.sh here: a small hybrid run on 3 ranks, each below the
# wrapper (not where hybrid_whole=no), one of one step that is gone on with on 3 and then on 2 ranks, and one of 3
# particles on 5 ranks.
# Even the one rank that makes its initial conditions has a launcher: without one, gcc 12's LeakSanitizer was seen to
# crash.
hybrid() {
  cat > hybrid.ini <<EOF
[Input]
InitCondFile = ic.hdf5
[Output]
OutputDir = out
TimeBetSnapshot = 0.0625
TimeBetStatistics = 1e-9
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = 0.125
[Gravity]
Softening = 0.02
[Split]
Mode = hybrid
[Steps]
Scheme = block
EOF
  program=$1
  shift
  whole="$MPIRUN $MPIRUN_FLAGS -n 3 $* $program run --overwrite hybrid.ini && test -s out/energy.csv &&
  test -s out/snapshot_000.hdf5"
  [ "${hybrid_whole-}" != no ] || whole=true
  cat > hybrid.sh <<EOF
$MPIRUN $MPIRUN_FLAGS -n 1 $program ic plummer -n ${hybrid_particles:-2000} -s 7 -o ic.hdf5 &&
  $whole &&
  $MPIRUN $MPIRUN_FLAGS -n 3 $* $program run --overwrite -n 1 -P Checkpoints:CheckpointAtEnd=on \\
    -P Output:OutputDir=parts hybrid.ini &&
  test -s parts/energy.csv && test -s parts/snapshot_000.hdf5 &&
  $MPIRUN $MPIRUN_FLAGS -n 3 $* $program run -r -n 2 -P Checkpoints:CheckpointAtEnd=on \\
    -P Output:OutputDir=parts hybrid.ini &&
  $MPIRUN $MPIRUN_FLAGS -n 2 $* $program run -r -n 3 -P Output:OutputDir=parts hybrid.ini &&
  $MPIRUN $MPIRUN_FLAGS -n 1 $program ic plummer -n 3 -s 7 -o few.hdf5 &&
  $MPIRUN $MPIRUN_FLAGS -n 5 $* $program run --overwrite -n 2 -P Input:InitCondFile=few.hdf5 \\
    -P Output:OutputDir=few hybrid.ini
EOF
}
