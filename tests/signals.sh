#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What a run says and keeps when it is ended by signals, and names that a shell or a file system could misread.
. "${srcdir:-.}/tests/harness.sh"
parts_model 500
limit=60
mkfifo pipe.so
mkdir fifo
(cd fifo && exec "$here/espalier" run -P External:AgamaLibrary=../pipe.so -P External:Agama=type=Plummer ../run.ini) > \
  fifo/log 2> fifo/err < /dev/null &
job=$!
ended
ends 1 && has fifo/err 'AgamaLibrary = .*pipe.so is not a regular file'
ok $? "AgamaLibrary names a FIFO: refused"

go unmade 1 -n 1 -P Checkpoints:CheckpointDir=../run.ini
ends 1 'warning: as it is now, no checkpoint can be written: CheckpointDir: ../run.ini is not a folder'
ok $? "CheckpointDir is no folder: said at the start"

name=linked shown="linked/err linked/log"
mkdir -p linked/out
echo kept > target
ln -s ../../target linked/out/parameters-used.ini
go linked 1 --overwrite -n 1
ends 1 'parameters-used.ini is a symbolic link' && [ "$(cat target)" = kept ]
ok $? "parameters-used.ini is a symbolic link: refused, and its target stays"

go quoted 1 -P Output:OutputDir='x;touch pwn y' -n 2
ends 0 && has quoted/log "^next: espalier-plot .*'x;touch pwn y'"
ok $? "the command to type next is quoted for a shell"

for value in 1e30 garbage -5; do
  SLURM_JOB_END_TIME=$value go slurm 1 --overwrite -n 1
  ends 1 "SLURM_JOB_END_TIME = '$value': expected"
  ok $? "SLURM_JOB_END_TIME=$value: refused"
  SLURM_JOB_END_TIME=$value go slurm 1 --overwrite -n 1 --walltime 10
  ends 0
  ok $? "... but not with --walltime"
done

mkdir -p random/out
printf 'x\001\377,7\nnoise,1\n' > random/out/choice.csv
go random 1 --overwrite -n 1 -P Accuracy:Repeatable=on -P Split:Mode=auto -P Split:SoftStep=0 -P Steps:Scheme=auto
ends 1 'expected the column names of choice.csv'
ok $? "choice.csv of another kind: refused"

begin told 1 -P Time:TimeMax=1000 -P Output:TimeBetSnapshot=0 -P Checkpoints:TimeBetCheckpoints=0.001
saved() { has told/log '^checkpoint '; }
within 30 saved
kill -TERM "$job"
ended
ends 0 && has told/err '^espalier: SIGTERM: .*checkpoint_[0-9]*, as of .*, is saved' &&
  has told/err '^next: .*espalier run --restart .*run.ini' && reports told state=interrupted
ok $? "SIGTERM: at once a line that says what is saved and what to type"

begin told 1 --overwrite -P Time:TimeMax=1000 -P Output:TimeBetSnapshot=0
within 30 reports told state=running
kill -XCPU "$job"
ended
ends 0 && reports told state=interrupted && reports told reason=SIGXCPU
ok $? "SIGXCPU, as of a limit of processor time: a checkpoint, and the run stops"

mkdir piped
(cd piped && "$here/espalier" run ../run.ini 2> err | head -n 1 > log)
reports piped state=finished && has piped/err 'standard output: Broken pipe'
ok $? "the reader of the output ends: the run goes on to its end, and says so"
mkdir closed
(cd closed && exec "$here/espalier" run ../run.ini <&- >&- 2>&-)
status=$?
ends 1 && reports closed state=finished && same_tables piped closed
ok $? "without standard streams no file of the run is taken for one"

# a soft step that takes minutes, in which there is no checkpoint: mpirun kills the ranks a second after SIGTERM
unset OMPI_MCA_odls_base_sigkill_timeout
go late 1 -n 2 -P Checkpoints:CheckpointAtEnd=on
with_checkpoint=$(sed -n 's/^checkpoint=//p' late/out/status)
for signal in TERM INT; do
  for how in --overwrite --restart; do
    begun=late-$signal$how
    mkdir -p $begun && cp -R late/out $begun/
    ESPALIER_DEBUG=checkpoint_ticks=0 begin $begun 2 $how -P Steps:Eta=1e-10
    within 30 reports $begun state=running
    sleep 1
    kill -$signal "$job"
    ended
    saved="the last checkpoint is $with_checkpoint; continue with"
    [ $how = --restart ] || saved='nothing is saved; start again with'
    [ $status -ne 0 ] && reports $begun state=failed && has $begun/out/status \
      "^reason=rank [01], .*SIGTERM, and no .* since (.*); $saved: mpirun -n 2 espalier run $how .*run.ini\$"
    ok $? "SIG$signal to mpirun in a long soft step, $how: the status says what is saved and what to type"
  done
done
for again in TERM INT; do
  ESPALIER_DEBUG=checkpoint_ticks=0 begin twice 0 --overwrite -P Device:WatchdogMinutes=0 -P Steps:Eta=1e-10
  within 30 reports twice state=running
  sleep 1
  kill -$again "$job"
  said_again() { [ $again = INT ] && has twice/err 'a second SIGINT' || reports twice state=failed; }
  within 10 said_again
  kill -INT "$job"
  [ $again = INT ] || kill -INT "$job"
  ended
  [ $status -ne 0 ] && reports twice state=failed &&
    has twice/out/status '^reason=.*; nothing is saved; start again with: espalier run --overwrite .*run.ini$'
  ok $? "SIG$again, then SIGINT, without a launcher and without a limit of the watchdog: the same"
done
finish
