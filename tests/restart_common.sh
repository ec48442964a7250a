# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# What the tests of checkpoints share: . "${srcdir:-.}/tests/restart_common.sh" (which sources tap.sh), in a new folder $dir.
here=$(pwd)
. "${srcdir:-.}/tests/tap.sh"
dir=$(mktemp -d) || exit 99
job=   # a run under way
trap '[ -z "$job" ] || kill -KILL $job 2> /dev/null; rm -rf "$dir"' EXIT
# shellcheck disable=SC2086  # for the tests
mpirun="${MPIRUN:-mpirun} ${MPIRUN_FLAGS-}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# Snapshots of two runs are then equal byte by byte; each run has a folder of its own, with results in "out" there.
export SOURCE_DATE_EPOCH=0 OMP_NUM_THREADS=1

# model PARTICLES: initial conditions and parameters
model() {
  # shellcheck disable=SC2086  # with a launcher: without one, LeakSanitizer was seen to crash
  $mpirun -n 1 "$here/espalier" ic plummer -n "$1" -s 3 -o "$dir/plummer.hdf5" > ic.log 2>&1 || { cat "$dir/ic.log"; exit 99; }
  settings plummer.hdf5
}

# settings FILE: parameters of a run that begins from this file
settings() {
  cat > run.ini << END_OF_INI
[Input]
InitCondFile = ../$1
[Output]
OutputDir = out
TimeBetSnapshot = 0.03125
TimeBetStatistics = 1e-9
SubstepLog = on
[Checkpoints]
CheckpointAtEnd = on
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = 0.125
[Gravity]
Softening = 0.0139
[Device]
Tuning = frozen
Backend = cpu
[Split]
Mode = hybrid
SoftStep = 0.015625
[Steps]
Scheme = block
END_OF_INI
}

# go NAME RANKS OPTION...: a run in the folder NAME; $status
go() {
  name=$1 ranks=$2
  shift 2
  mkdir -p "$dir/$name"
  # shellcheck disable=SC2086
  (cd "$name" && timeout "${seconds:-120}" $mpirun -n "$ranks" "$here/espalier" run "$@" ../run.ini) > "$name/log" 2> "$name/err" < /dev/null
  # shellcheck disable=SC2034  # for the caller
  status=$?
}

# columns NAME...: standard input's table without these columns and without comments
without() {
  grep -v '^#' | awk -F, -v names="$*" 'BEGIN { n = split(names, list, " "); for (i = 1; i <= n; i++) drop[list[i]] = 1 }
    NR == 1 { for (i = 1; i <= NF; i++) out[i] = $i in drop }
    { line = ""; for (i = 1; i <= NF; i++) if (!out[i]) line = line "," $i; print line }'
}

# same ONE TWO: the same snapshots and tables, byte by byte where no clock is in them
same() {
  ls "$dir/$1/out"/snapshot_*.hdf5 > /dev/null || return 1
  (cd "$1/out" && ls snapshot_*.hdf5) > one.list
  (cd "$2/out" && ls snapshot_*.hdf5) > two.list
  cmp "$dir/one.list" "$dir/two.list" || return 1
  while read -r f; do cmp "$dir/$1/out/$f" "$dir/$2/out/$f" || return 1; done < "$dir/one.list"
  cmp "$dir/$1/out/energy.csv" "$dir/$2/out/energy.csv" || return 1
  cmp "$dir/$1/out/analysis.csv" "$dir/$2/out/analysis.csv" || return 1
  for run in "$1" "$2"; do
    without h imbalance_seconds seconds < "$dir/$run/out/steps.csv" > "$run.steps"
    without select rebuild moments walk correct all < "$dir/$run/out/substeps.csv" > "$run.substeps"
  done
  cmp "$dir/$1.steps" "$dir/$2.steps" && cmp "$dir/$1.substeps" "$dir/$2.substeps" && [ "$(wc -l < "$dir/$1.steps")" -gt 2 ]
}

# says KEY VALUE NAME: the status file of a run
says() { grep -q -x -e "$1=$2" "$dir/$3/out/status"; }

