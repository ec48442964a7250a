#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Ranks are killed (SIGKILL) at random moments, every other time while a checkpoint is being written, and the run is
# gone on with: a good checkpoint is always found, nothing that has a good name is damaged, and the end is that of a run
# that was left alone. ESPALIER_KILLS: how often (3).
. "${srcdir:-.}/tests/harness.sh"
kills=${ESPALIER_KILLS:-3} steps=$((10 + 10 * ${ESPALIER_KILLS:-3}))
command -v pgrep > /dev/null || skip_all "no pgrep"
# what killed ranks leave of shared memory goes with the folder
mkdir shm
export OMPI_MCA_btl_vader_backing_directory="$dir/shm"
parts_model 3000

# until COMMAND...: wait for it, a minute at most, as long as the run goes on
alive() { ! gone; }
until_() {
  tries=6000
  while alive && ! "$@"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || return 1
    sleep 0.01
  done
}
# the launcher's ranks: its children, which some launchers' are not
ranks_of() { processes=$(pgrep -P "$job" -x "$1" | tr '\n' ' ') && [ "$(echo "$processes" | wc -w)" = "$2" ]; }
$(starter 2) sleep 60 > /dev/null 2>&1 < /dev/null &
job=$!
until_ ranks_of sleep 2
found=$?
kill $job 2> /dev/null
wait $job 2> /dev/null
job=
[ $found = 0 ] && [ -n "$processes" ] || { processes='' && skip_all "the launcher's ranks are not its children"; }
processes=

# checkpoints nearly all the time
set -- -P Time:TimeMax=100 -P Output:TimeBetSnapshot=0.0625 -P Checkpoints:TimeBetCheckpoints=0.0005 -n $steps

go whole 3 "$@"
ok $status "a run of three ranks that is left alone"

# A number below $1, from a sequence that is the same every time.
seed=12345
chance() {
  seed=$(((seed * 1103515245 + 12345) % 2147483648))
  chance=$((seed / 65536 % $1))
}
steps_done() { cat killed/out/steps.csv 2> /dev/null | wc -l; }
any_checkpoint() { ls killed/out/checkpoints/checkpoint_*[0-9]/manifest > /dev/null 2>&1; }
being_written() { ls -d killed/out/checkpoints/*.tmp > /dev/null 2>&1; }
further() { [ "$(steps_done)" -ge "$1" ]; }

# All that has a good name is what it should be: snapshots are those of the whole run, the tables' lines too.
unharmed() {
  for f in killed/out/snapshot_*.hdf5; do
    [ -e "$f" ] || continue
    cmp "$f" "whole/out/${f##*/}" || return 1
  done
  head -c "$(wc -c < killed/out/energy.csv)" whole/out/energy.csv | cmp - killed/out/energy.csv
}

mkdir killed
k=0 writing=0 lost=0 found=0 harmed=0 early=0 stuck=0
while [ $k -lt "$kills" ]; do
  k=$((k + 1))
  how=--overwrite
  # a run that ended before it was killed is started again from the beginning
  any_checkpoint && ! reports killed state=finished 2> /dev/null && how="-r last" || rm -rf killed/out
  begin killed 3 "$@" $how
  # it has come some steps farther
  [ "$how" = --overwrite ] || until_ has killed/log '^restart from'
  chance 8
  before=$(steps_done)
  until_ ranks_of espalier 3 && until_ further $((before + 3 + chance)) || { alive && stuck=$((stuck + 1)); }
  chance 3
  victim=$(echo $processes | cut -d ' ' -f $((chance + 1)))
  chance 40
  sleep 0.0$((chance / 10))$((chance % 10))
  tries=200000
  while [ $((k % 2)) = 0 ] && alive &&
    [ $tries -gt 0 ]; do   # until a checkpoint is being written; without starting a program
    tries=$((tries - 1))
    for f in killed/out/checkpoints/*.tmp; do [ -d "$f" ] && break 2; done
  done
  kill -KILL "$victim" 2> /dev/null || early=$((early + 1))
  wait $job
  job='' processes=''
  being_written && writing=$((writing + 1))
  [ "$how" = --overwrite ] || { has killed/log '^restart from' && found=$((found + 1)) ||
    { lost=$((lost + 1)); sed 's/^/# /' killed/err; }; }
  has killed/err 'a damaged checkpoint is skipped' && { harmed=$((harmed + 1)); sed 's/^/# /' killed/err; }
  unharmed || { harmed=$((harmed + 1)); echo "# after kill $k"; }
done
echo "# $kills kills, $writing while a checkpoint was being written, $early of a run that had ended; $found restarts"
[ $stuck = 0 ] && [ $early -lt $k ]
ok $? "runs came some steps farther, and were killed under way"
check "every restart found a good checkpoint" test $lost = 0
check "nothing with a good name was damaged" test $harmed = 0
if any_checkpoint; then go killed 3 "$@" -r last; else go killed 3 "$@" --overwrite; fi
ends 0 && same whole killed
ok $? "in the end: the same snapshots and tables"
finish
