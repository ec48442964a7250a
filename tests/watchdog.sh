#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A rank that stalls, and one that dies, end the job; stderr says where.
. "${srcdir:-.}/tests/harness.sh"
trap 'exit 1' HUP INT TERM
# where a rank dies, mpirun tells the others to end by SIGTERM, and they need a second to say where they were
# (tests/local.mk has 0)
unset OMPI_MCA_odls_base_sigkill_timeout
shown="err"
command -v pgrep > /dev/null || skip_all "no pgrep"
[ -r /proc/self/environ ] || skip_all "no /proc"

model plummer -n 1000
parameters run.ini Time:TimeMax=1000 Gravity:Softening=0.03 Split:SoftStep=0.001 $hybrid

under_way() { [ "$(cat out/steps.csv 2> /dev/null | wc -l)" -gt 8 ] || gone; }
none_alive() {
  for p in "$@"; do
    # what init has not yet buried counts as gone
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$p/status" 2> /dev/null)
    case $state in '' | Z | X) ;; *) return 1 ;; esac
  done
}
pid_of_rank() {
  for p in $processes; do
    tr '\0' '\n' < "/proc/$p/environ" 2> /dev/null | grep -q -E "^(OMPI_COMM_WORLD_RANK|PMI_RANK|PMIX_RANK)=$1\$" && \
      echo "$p" && return
  done
}

# start MINUTES: three ranks that run for long
start() {
  rm -rf out
  $(starter 3) "$here/espalier" run -P Output:OutputDir=out \
    -P Device:WatchdogMinutes="$1" run.ini > log 2> err < /dev/null &
  job=$!
  within 60 under_way
  processes=$(pgrep -P $job -x espalier | tr '\n' ' ')
  one=$(pid_of_rank 1)
}

# finish: `status` of the job, which must end within a minute
all_ended() {
  within 60 none_alive $job || kill -KILL $job
  wait $job
  status=$?
  job=
  within 20 none_alive $processes
  left=$?
}

start 0.1
if [ -z "$one" ] && kill -0 "$job"; then
  kill "$job"
  wait "$job"
  job=
  skip_all "the launcher's ranks are not its children"
fi
check "a job of three ranks is under way" test -n "$one"
[ -z "$one" ] || kill -STOP "$one"
all_ended
[ $status -ne 0 ] && [ $status -ne 137 ]
ok $? "a rank is stopped: the job ends by itself (status $status)"
line=$(grep -m 1 'no progress' err)
expected='^espalier: fatal: rank [02], step [0-9]+, phase [a-z_]+: no progress for 0\.[0-9]+ minutes '
echo "$line" | grep -q -E "$expected"'\(waiting for (all ranks|rank [0-9])\)$'
ok $? "stderr names rank, step, phase: ${line#espalier: fatal: }"
ok $left "no process is left"
sed -n 1,3p out/status > words
grep -q -x 'state=failed' words && grep -q -E \
  '^reason=rank [02], step [0-9]+, phase [a-z_]+: no progress for 0\.[0-9]+ minutes' words
ok $? "the status file: $(paste -s -d ' ' words)"

start 0
[ -z "$one" ] || kill -KILL "$one"
all_ended
[ -n "$one" ] && [ $status -ne 0 ] && [ $left = 0 ]
ok $? "a rank is killed: the job ends, also without the watchdog (status $status)"

start 10
[ -z "$one" ] || kill -KILL "$one"
all_ended
[ -n "$one" ] && [ $status -ne 0 ] && [ $left = 0 ]
ok $? "a rank is killed: the job ends at once with the watchdog (status $status)"
line=$(grep -m 1 'phase .*SIGTERM' err)
echo "$line" | grep -q -E '^espalier: rank 0, step [0-9]+, phase [a-z_]+: SIGTERM \(waiting for .*\)$'
ok $? "stderr names step and phase: ${line#espalier: }"
# on a busy machine the report may come later than the launcher waits
sed -n 1,3p out/status > words
grep -q -x 'state=failed' words && grep -q -E \
  '^reason=rank 0, step [0-9]+, phase [a-z_]+: SIGTERM, and no progress since' words
ok $? "the status file: $(paste -s -d ' ' words)"

# measurements have the watchdog too
# measure COMMAND...: three ranks; the second is stopped once the table exists
measure() {
  rm -f table.csv
  $(starter 3) "$here/espalier" "$@" -P Device:WatchdogMinutes=0.03 -o table.csv run.ini > log 2> err < /dev/null &
  job=$!
  within 60 test -e table.csv
  processes=$(pgrep -P $job -x espalier | tr '\n' ' ')
  one=$(pid_of_rank 1)
  [ -z "$one" ] || kill -STOP "$one"
  all_ended
  [ -n "$one" ] && [ $status -ne 0 ] && [ $status -ne 137 ] && grep -q -E \
    '^espalier: fatal: rank [02], .*: no progress for 0\.[0-9]+ minutes' err
  ok $? "$1: a rank is stopped: the job ends by itself (status $status)"
  ok $left "no process is left"
}
measure study let --ranks "$(seq -s , 1000 -1 937)"
measure force --delta 1:20

# a kernel that does not end, where there is a device: the host still looks, and says where
if espalier info | grep -q 'cuda *device'; then
  ESPALIER_DEBUG=stall=1:40:90
  export ESPALIER_DEBUG
  start 0.1
  unset ESPALIER_DEBUG
  all_ended
  [ $status -ne 0 ] && [ $status -ne 137 ]
  ok $? "a kernel of rank 1 does not end: the job ends by itself (status $status)"
  line=$(grep -m 1 'no progress' err)
  expected='^espalier: fatal: rank [0-2], step [0-9]+, phase [a-z_]+: no progress for 0\.[0-9]+ minutes '
  echo "$line" | grep -q -E "$expected"'\((waiting for (all ranks|rank [0-9])|not waiting for others)\)$'
  ok $? "stderr names rank, step, phase: ${line#espalier: fatal: }"
  ok $left "no process is left"
else
  echo "# no device: kernels that do not end are left out"
fi
finish
