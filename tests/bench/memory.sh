#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Memory that `espalier run --check` predicts, against the largest resident set of a run with snapshots and a
# checkpoint.
#
# [NUMBERS="10000 100000 1000000"] [RANKS="1 2 4"] [MODES="tree hybrid"] [MODELS=plummer] sh tests/bench/memory.sh
# [ESPALIER]
#
# One line for each run: megabytes per rank predicted and found, their ratio, and the peaks of labels in bytes per
# particle of rank 0.
# The constants are in the table of src/check/memory_need.c; a ratio below 1, or above 1.15, asks for new ones.
# Ten minutes on two cores, and 2 GB of memory.
program=$(realpath "${1:-./espalier}") || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
printf '[Input]\nInitCondFile = ic.hdf5\n' > run.ini
export OMP_NUM_THREADS=1
: "${NUMBERS:=10000 100000 1000000}" "${RANKS:=1 2 4}" "${MODES:=tree hybrid}" "${MODELS:=plummer}"
launch() {
  # shellcheck disable=SC2086
  ${MPIRUN:-mpirun --oversubscribe} $MPIRUN_FLAGS -n "$@" < /dev/null
}
printf '%-9s %8s %5s %-6s %9s %9s %6s  %s\n' model particles ranks mode predicted found ratio 'labels on rank 0'
for model in $MODELS; do
  for n in $NUMBERS; do
    "$program" ic "$model" -n "$n" -o ic.hdf5 --overwrite > log || exit 1
    softening=$(awk -v n="$n" 'BEGIN { print 0.2 * n ^ -0.26 }')
    for mode in $MODES; do
      for ranks in $RANKS; do
        set -- -P Output:OutputDir=out -P Units:GravityConstantInternal=1 -P Gravity:Softening="$softening" \
          -P Split:Mode="$mode" -P Checkpoints:CheckpointAtEnd=on -P Device:Backend=cpu -n 2 --overwrite
        launch "$ranks" "$program" run --check "$@" run.ini > said 2>&1
        launch "$ranks" "$program" run -v "$@" run.ini > ran 2>&1 || { cat ran; exit 1; }
        awk -v model="$model" -v n="$n" -v ranks="$ranks" -v mode="$mode" '
          FILENAME == "said" && /^memory  *about/ { predicted = $3 * ($4 == "kB" ? 1e-3 : $4 == "MB" ? 1 : 1e3) }
          FILENAME == "ran" && /^memory: at most/ { found = $0; sub(/.*resident set /, "", found); found += 0;
          labels = 1; next }
          FILENAME == "ran" && labels { if (/^  /) { sub(/^  /, ""); text = text $0 } else labels = 0 }
          END { printf "%-9s %8d %5d %-6s %9.1f %9.1f %6.3f  %s\n", model, n, ranks, mode, predicted, found,
            predicted / found, text }' said ran
      done
    done
  done
done
