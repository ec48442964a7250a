# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Functions of test scripts: . "${srcdir:-.}/tests/tap.sh"
# shellcheck disable=SC2034  # the test exits with it
number=0 failed=0
# Files with output, whose first lines are shown when a check fails.
shown=
# ok STATUS TEXT: one check, passed where the status is 0
ok() {
  number=$((number + 1))
  if [ "$1" = 0 ]; then
    echo "ok $number - $2"
  else
    echo "not ok $number - $2"
    # shellcheck disable=SC2086
    [ -z "$shown" ] || sed 's/^/# /' $shown | grep -v '^# ok' | head -40
    failed=1
  fi
}
# within SECONDS COMMAND...: until it succeeds
within() {
  tries=$(($1 * 20))
  shift
  while ! "$@"; do
    [ $tries -gt 0 ] || return 1
    tries=$((tries - 1))
    sleep 0.05
  done
}
# new_folder: the script goes on in a new folder, $dir, which is removed at its end. $here is the folder before; $same compares snapshots
new_folder() {
  dir=$(mktemp -d) || exit 99
  trap 'rm -rf "$dir"' EXIT
  here=$PWD
  same=$(cd "${srcdir:-.}" && pwd)/tests/slurm/same.py
  cd "$dir" || exit 99
}
# with_plots: $plot, the command of plots, and $python, a python3 that draws; files go to the new folder $dir, which is removed at the end of the
# script. $src is the source folder. Where no python3 draws, the script ends and its checks are skipped
with_plots() {
  dir=$(mktemp -d) || exit 99
  trap 'rm -rf "$dir"' EXIT
  src=${srcdir:-.}
  plot=$src/tools/espalier-plot
  if ! python=$("$plot" --find 2> /dev/null); then
    echo "1..0 # SKIP no python3 with h5py, numpy and matplotlib"
    exit 0
  fi
  export PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR="$dir"
}
# launch RANKS ARGUMENT...: the program of the build folder, $here; for at most $limit seconds, where that is set
launch() {
  on=$1
  shift
  # shellcheck disable=SC2086
  ${limit:+timeout $limit} ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n "$on" "$here/espalier" "$@" < /dev/null
}
# for_model BETWEEN MAX: the first lines of a parameter file for a model in ic.hdf5, with TimeBetSnapshot and TimeMax, and statistics at every soft step
for_model() {
  printf '%s\n' '[Input]' 'InitCondFile = ic.hdf5' '[Output]' "TimeBetSnapshot = $1" 'TimeBetStatistics = 1e-9' '[Units]' 'GravityConstantInternal = 1' '[Time]' "TimeMax = $2"
}
# with_python MODULES: $python, the path of a python3 that has these modules ("h5py, numpy"); none where it is empty. A path, because
# mpirun puts the folder of its own programs before those of PATH.
with_python() {
  for python in "${PYTHON-}" python3 /usr/bin/python3; do
    test -n "$python" && "$python" -c "import $1" 2> /dev/null && python=$(command -v "$python") && return 0
  done
  python=
  return 1
}
