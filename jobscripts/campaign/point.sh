#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# point.sh RANKS TASK LAUNCHER [ARGUMENT]...: one point and repeat of a scaling study, or all on so many ranks one after
# the other (TASK = all). TASK is a line of jobs/RANKS.tasks: folder, particles. Repeats that are done are skipped.
set -u
unset CDPATH
cd -- "$(dirname -- "$0")" || exit 1
set -f   # the words of $model may contain *
ranks=$1 task=$2
shift 2
# the options of 'scaling make': program, model, initial, steps
program='' model='' initial='' steps=''
# shellcheck source=/dev/null
. ./settings.sh || exit 1

# initial conditions: prints their name as in $folder; made once for every number of particles
conditions() {
  if [ -n "$initial" ]; then printf '%s\n' "$initial"; return 0; fi
  file=ic/$particles.hdf5
  if [ ! -e "$file" ]; then
    mkdir -p ic
    # a unique name, because a job on other ranks may make the same file
    own=ic/$particles-$ranks-$$.hdf5
    # shellcheck disable=SC2086
    "$@" "$program" ic $model -n "$particles" -o "$own" > "$folder/ic.log" 2>&1 < /dev/null && mv "$own" "$file" ||
      return 1
  fi
  echo "../../$file"
}

# placement, processor and clocks, for the table
where() {
  echo "date=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  echo "hosts=$("$@" hostname 2> /dev/null < /dev/null | sort | uniq -c |
    awk '{ printf "%s%s x%s", s, $2, $1; s = " " }')"
  echo "processor=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)"
  echo "clock=$(awk -F: '/^cpu MHz/ { s += $2; n++ } END { if (n) printf "%.0f MHz", s / n }' /proc/cpuinfo)"
  echo "gpu=$(nvidia-smi --query-gpu=name,clocks.sm --format=csv,noheader 2> /dev/null | head -n 1 | tr -d ,)"
}

# counter NAME: the sum of a counter (microjoules) of all packages of this node's processors; nothing where it cannot be
# read
counter() {
  (set +f; cat "${POWERCAP:-/sys/class/powercap}"/intel-rapl:[0-9]/"$1" \
    "${POWERCAP:-/sys/class/powercap}"/intel-rapl:[0-9][0-9]/"$1" 2> /dev/null) |
    awk '{ s += $1 } END { if (NR) printf "%.0f", s }'
}

failures=0
while read -r folder particles; do
  if [ -e "$folder/done" ]; then echo "$folder: done before"; continue; fi
  file=$(conditions "$@") || { echo "$folder: no initial conditions; see $folder/ic.log"; failures=1; continue; }
  where "$@" > "$folder/where"
  before=$(counter energy_uj) begun=$(date +%s.%N) sampler=
  rm -f "$folder/power"
  if command -v nvidia-smi > /dev/null; then
    nvidia-smi --query-gpu=power.draw --format=csv,noheader,nounits -l 1 > "$folder/power" 2> /dev/null < /dev/null &
    sampler=$!
  fi
  (cd "$folder" && "$@" "$program" run --overwrite --no-output -n "$steps" -P "Input:InitCondFile=$file" \
    -P Output:OutputDir=out \
    ../../run.ini) > "$folder/run.log" 2>&1 < /dev/null
  result=$?
  [ -z "$sampler" ] || { kill "$sampler" 2> /dev/null; wait "$sampler" 2> /dev/null; }
  # of this node, for the table: seconds of the run, joules of its processors, counter range, number of GPUs
  { echo "seconds=$(awk -v a="$begun" -v b="$(date +%s.%N)" 'BEGIN { printf "%.3f", b - a }')"
    echo "before=$before"
    echo "after=$(counter energy_uj)"
    echo "range=$(counter max_energy_range_uj)"
    echo "gpus=$(nvidia-smi --list-gpus 2> /dev/null < /dev/null | grep -c GPU)"; } > "$folder/energy"
  if [ $result -eq 0 ] || [ $result -eq 3 ]; then : > "$folder/done"; else failures=1; fi
  echo "$folder: exit status $result"
done << TASKS
$(if [ "$task" = all ]; then cat "jobs/$ranks.tasks"; else sed -n "${task}p" "jobs/$ranks.tasks"; fi)
TASKS
exit $failures
