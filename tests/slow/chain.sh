#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The collision of two galaxies in a chain of jobs, each submitted again while the one before has left the file cont,
# gives the same snapshots and tables as one job. ESPALIER_GALAXIES: the file of params/galaxies.ini; without it a model
# merger is made.
. "${srcdir:-.}/tests/slow/common.sh"
program=$PWD/espalier
plan 4
scratch chain
cd "$scratch_dir" || exit 99
export SOURCE_DATE_EPOCH=0 OMP_NUM_THREADS=1
if [ -n "${ESPALIER_GALAXIES-}" ]; then
  cp "$ESPALIER_GALAXIES" galaxy.dat || exit 99
  cp "$src/params/galaxies.ini" run.ini
  input=../galaxy.dat
else
  "$program" ic merger -n 4000 -s 5 -o galaxy.dat > ic.log 2>&1 || exit 99
  cp "$src/params/merger.ini" run.ini
  input=../galaxy.dat
fi
# begin FOLDER OPTION...: a job of two ranks; $job
begin() {
  folder=$1
  shift
  # shellcheck disable=SC2086
  (cd "$folder" &&
    exec timeout --foreground 3000 $MPIRUN $MPIRUN_FLAGS -n 2 "$program" run -P Input:InitCondFile=$input \
    -P Output:OutputDir=out -P Accuracy:Repeatable=on -P Accuracy:Accuracy=coarse "$@" ../run.ini) \
    > "$folder/log" 2>&1 < /dev/null &
  job=$!
}
steps() { grep -c '^[0-9]' "$1/out/steps.csv" 2> /dev/null || :; }
mkdir one chain
begin one
wait $job
result $? "in one job"
all=$(steps one)
jobs=0 again=
# each of the first jobs is told to stop when about so many quarters of the steps are made
while [ $jobs -lt 12 ]; do
  jobs=$((jobs + 1))
  # shellcheck disable=SC2086
  begin chain $again
  while [ $jobs -le 2 ] && kill -0 $job 2> /dev/null; do
    made=$(steps chain)
    if [ "${made:-0}" -ge $((all * jobs / 4)) ]; then
      pkill -USR1 -P "$(pgrep -P $job | head -n 1)" -x espalier || :
      break
    fi
    sleep 0.05
  done
  wait $job || break
  cp chain/log "chain/log-$jobs"
  cp chain/out/status "chain/status-$jobs"
  [ -e chain/out/cont ] || break
  again="-r last"
done
echo "# $all steps; $jobs jobs; steps at their ends: $(sed -n 's/^step=//p' chain/status-* | tr '\n' ' ')"
grep -q -x state=finished chain/out/status
result $? "in a chain of jobs, by the file cont"
[ $jobs -ge 3 ]
result $? "there were at least three"
same=0
for f in one/out/snapshot_*.hdf5 one/out/energy.csv; do cmp "$f" "chain/out/${f##*/}" || same=1; done
[ "$(ls one/out/snapshot_* | wc -l)" -gt 2 ] || same=1
result $same "the same snapshots and energies"
finish
