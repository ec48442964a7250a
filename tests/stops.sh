#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs that are stopped by signals, files or the clock, and gone on with; what is refused at a start, and at a restart.
. "${srcdir:-.}/tests/restart_common.sh"
model 1000

has_rows() { [ "$(cat "$dir/$1/out/steps.csv" 2> /dev/null | wc -l)" -gt "$2" ]; }
# begin NAME OPTION...: a long run on one rank, under way; $job
begin() {
  name=$1
  shift
  mkdir -p "$dir/$name"
  (cd "$dir/$name" && exec "$here/espalier" run -P Time:TimeMax=100 -P Output:TimeBetSnapshot=0 "$@" ../run.ini) > "$dir/$name/log" 2> "$dir/$name/err" < /dev/null &
  job=$!
  shown="$dir/$name/err $dir/$name/log"
  within 30 has_rows "$name" "${rows:-8}"
}
gone() { ! kill -0 "$job" 2> /dev/null; }
# finish: its status
finish() {
  within 30 gone || kill -KILL "$job"
  wait "$job"
  status=$?
  job=
}
cont() { [ -e "$dir/$1/out/cont" ]; }
some_checkpoint() { ls "$dir/$1"/out/checkpoints/checkpoint_*/manifest > /dev/null 2>&1; }

for signal in USR1 TERM HUP INT; do
  begin $signal
  says state running $signal
  ok $? "under way, the status file says state=running"
  kill -$signal $job
  finish
  [ $status = 0 ] && says state interrupted $signal && says reason SIG$signal $signal && some_checkpoint $signal
  ok $? "SIG$signal: a checkpoint, exit status 0, state=interrupted"
  said=0
  grep -q '^espalier: SIGINT: the run stops within this soft step or the next; a second SIGINT ends it at once' "$dir/$signal/err" && said=1
  if [ $signal = INT ]; then [ $said = 1 ]; else [ $said = 0 ]; fi
  ok $? "SIG$signal: Ctrl-C: a message at once says what the run waits for"
  if [ $signal = INT ]; then ! cont $signal; else cont $signal; fi
  ok $? "SIG$signal: the file cont says whether to submit again"
done
# a terminal that is closed, with the process that reads the output
mkdir -p "$dir/closed"
mkfifo "$dir/closed/words"
cat "$dir/closed/words" > "$dir/closed/log" &
reader=$!
(cd "$dir/closed" && exec "$here/espalier" run -P Time:TimeMax=100 -P Output:TimeBetSnapshot=0 ../run.ini) > "$dir/closed/words" 2> "$dir/closed/err" < /dev/null &
job=$!
shown="$dir/closed/err $dir/closed/log"
within 30 has_rows closed 8
kill -HUP $job
kill -KILL $reader
finish
says state interrupted closed && says reason SIGHUP closed && some_checkpoint closed && cont closed
ok $? "SIGHUP, and no process reads the output any more: a checkpoint"
(trap '' HUP; cd "$dir/closed" && exec "$here/espalier" run --overwrite -P Time:TimeMax=1000 -P Output:TimeBetSnapshot=0 ../run.ini) > "$dir/closed/log" 2> "$dir/closed/err" < /dev/null &
job=$!
begun() { says state running closed && grep -q '^energy' "$dir/closed/log" && has_rows closed 4; }
within 30 begun
kill -HUP $job
before=$(wc -l < "$dir/closed/out/steps.csv")
within 30 has_rows closed $((before + 8)) && ! gone && says state running closed
ok $? "SIGHUP that is ignored stays ignored"
kill -TERM $job
finish
# where one of the two files can no longer be written; with cont a chain of jobs goes on, without it the exit status says what the file does not
begin no-status
rm "$dir/no-status/out/status" && mkdir -p "$dir/no-status/out/status/x"
kill -USR1 $job
finish
[ $status = 0 ] && cont no-status && grep -q 'warning: out/status cannot be written' "$dir/no-status/err"
ok $? "no status file: a warning, and the file cont"
begin no-end
rm "$dir/no-end/out/status" && mkdir -p "$dir/no-end/out/status/x"
: > "$dir/no-end/out/stop"
finish
[ $status = 1 ] && ! cont no-end && some_checkpoint no-end && grep -q 'error: out/status could not be replaced: the run is interrupted (the file .stop.)' "$dir/no-end/err"
ok $? "no status file, and no file cont: a sentence, and exit status 1"
begin no-cont
mkdir -p "$dir/no-cont/out/cont/x"
kill -USR1 $job
finish
[ $status = 1 ] && says state interrupted no-cont && some_checkpoint no-cont && grep -q 'warning: out/cont cannot be written' "$dir/no-cont/err"
ok $? "no file cont: a checkpoint, a warning and exit status 1"
step=$(sed -n 's/^step=//p' "$dir/USR1/out/status")
go USR1 1 -P Time:TimeMax=100 -P Output:TimeBetSnapshot=0 -n $((step + 5)) -r last
ok $status "a restart behind SIGUSR1"
cont USR1
[ $? = 1 ] && says state finished USR1 && says step $((step + 5)) USR1
ok $? "... state=finished, and no file cont"
go whole 1 -P Time:TimeMax=100 -P Output:TimeBetSnapshot=0 -n $((step + 5))
same whole USR1
ok $? "... the same snapshots and tables as of a run that was not interrupted"

begin twice -P Split:SoftStep=1
kill -INT $job
kill -INT $job
sleep 0.1
kill -INT $job 2> /dev/null
finish
# at once, unless the step was over before the second one came
[ $status = 130 ] || { [ $status = 0 ] && some_checkpoint twice; }
ok $? "SIGINT again and again ends the process (status $status)"

begin go-on
kill -USR2 $job
within 10 some_checkpoint go-on
ok $? "SIGUSR2: a checkpoint"
before=$(wc -l < "$dir/go-on/out/steps.csv")
within 10 has_rows go-on $((before + 5))
ok $? "... and the run goes on"
: > "$dir/go-on/out/checkpoint"
first=$(ls "$dir/go-on/out/checkpoints")
another() { [ "$(ls "$dir/go-on/out/checkpoints")" != "$first" ] && [ ! -e "$dir/go-on/out/checkpoint" ]; }
within 15 another
ok $? "the file 'checkpoint': a checkpoint, and the file is gone"
: > "$dir/go-on/out/stop"
finish
[ $status = 0 ] && says state interrupted go-on && says reason "the file 'stop'" go-on && ! cont go-on && [ ! -e "$dir/go-on/out/stop" ]
ok $? "the file 'stop': stopped, no file cont, and the file is gone"
[ "$(ls "$dir/go-on/out/checkpoints" | wc -l)" = 2 ]
ok $? "two checkpoints are kept"

rows=1 begin limit --walltime 0:04
finish
[ $status = 0 ] && says state interrupted limit && says reason 'the wall-clock limit is near' limit && cont limit
ok $? "--walltime: stopped before the limit"
SLURM_JOB_END_TIME=$(($(date +%s) + 4)) && export SLURM_JOB_END_TIME
rows=1 begin slurm
unset SLURM_JOB_END_TIME
finish
[ $status = 0 ] && says reason 'the wall-clock limit is near' slurm
ok $? "SLURM_JOB_END_TIME: the same"

# one run at a time, restarts and starts alike
begin alone -P Time:TimeMax=2000
kill -USR2 $job
within 10 some_checkpoint alone
for option in -r --overwrite; do
  (cd "$dir/alone" && "$here/espalier" run $option ../run.ini) > "$dir/second" 2>&1
  [ $? = 1 ] && grep -q "error: another run (process $job on host .*) is under way in OutputDir = out" "$dir/second" && says state running alone && some_checkpoint alone
  ok $? "a second run in the same folder is refused: $option"
done
before=$(wc -l < "$dir/alone/out/steps.csv")
within 10 has_rows alone $((before + 2))
ok $? "... and the first goes on"
(cd "$dir/alone" && exec "$here/espalier" run -r -P Time:TimeMax=2000 -P Output:TimeBetSnapshot=0 ../run.ini) > "$dir/second" 2>&1 &
second=$!
waits() { grep -q 'waiting for its end' "$dir/second"; }
within 15 waits
ok $? "a second run that goes on says that it waits for the first"
kill -KILL $job
finish
started() { grep -q '^restart from' "$dir/second"; }
within 15 started
ok $? "one that ends within seconds is waited for"
kill -USR1 $second
wait $second
ok $? "... and gone on with"

# a run that is to stop tries three times, however often it has tried before
begin vain -P Checkpoints:CheckpointDir=../plummer.hdf5 -P Checkpoints:TimeBetCheckpoints=0.002
warned() { grep -q 'no checkpoint could be written, the run continues' "$dir/vain/err"; }
within 10 warned
kill -USR1 $job
finish
[ $status = 1 ] && [ "$(grep -c 'no checkpoint could be written, the run continues' "$dir/vain/err")" = 4 ] && grep -q 'the run is to stop, but no checkpoint' "$dir/vain/err"
ok $? "a stop without a checkpoint: three tries beside that by the clock"

begin clock -P Checkpoints:TimeBetCheckpoints=0.002
three() { [ "$(grep -c '^checkpoint ' "$dir/clock/log")" -ge 3 ]; }
within 20 three
ok $? "TimeBetCheckpoints: one after the other"
kill -USR1 $job
finish

# signals to one rank of three
mkdir -p "$dir/three"
# shellcheck disable=SC2086
(cd "$dir/three" && exec $mpirun -n 3 "$here/espalier" run -P Time:TimeMax=100 ../run.ini) > "$dir/three/log" 2> "$dir/three/err" < /dev/null &
job=$!
within 30 has_rows three 4
last=$(pgrep -P $job -x espalier | tail -n 1)
if [ -n "$last" ]; then
  kill -USR1 "$last"
  finish
  [ $status = 0 ] && says state interrupted three && cont three
  ok $? "SIGUSR1 to one rank of three stops all"
else
  kill -USR1 "$job"
  finish
  ok $status "SIGUSR1 to the launcher"
fi
shown="$dir/limit/err"
go limit 1
[ $status = 1 ] && grep -q 'checkpoints are there; continue from them with --restart.*--overwrite' "$dir/limit/err"
ok $? "a start over checkpoints is refused"
before=$(ls "$dir/limit/out/checkpoints")
go limit 1 -P Input:InitCondFile=absent.hdf5 --overwrite
[ $status = 1 ] && [ "$(ls "$dir/limit/out/checkpoints")" = "$before" ]
ok $? "a start that fails removes no checkpoint"
mkdir "$dir/limit/out/checkpoints/mine"
go limit 1 --overwrite -n 2 -P Checkpoints:CheckpointAtEnd=off
[ $status = 0 ] && [ "$(ls "$dir/limit/out/checkpoints")" = mine ]
ok $? "--overwrite removes the checkpoints, and nothing else"
go limit 1 -r
[ $status = 1 ] && grep -q 'there is no checkpoint in out/checkpoints; start a run from the last snapshot, InitCondFile = out/snapshot_001.hdf5, with another OutputDir; set CheckpointAtEnd = on' "$dir/limit/err" &&
  says state finished limit && says step 2 limit
ok $? "no checkpoint to go on from: a sentence, what is left to do, and the status of the run that had finished stays"
(cd "$dir/limit" && exec "$here/espalier" run -P Input:InitCondFile=out/snapshot_001.hdf5 -P Output:OutputDir=beyond -n 1 ../run.ini) > "$dir/limit/log" 2> "$dir/limit/err"
ok $? "... which can be done"
sed -i 's/^state=.*/state=running/' "$dir/limit/out/status"
go limit 1 -r
[ $status = 1 ] && grep -q 'last snapshot, InitCondFile = out/snapshot_001.hdf5, with another OutputDir; TimeBetCheckpoints = 60 (minutes) sets how often' "$dir/limit/err"
ok $? "... after a kill before the first checkpoint: the same"
rm -r "$dir/limit/out"/snapshot_*
go limit 2 -r
[ $status = 1 ] && grep -q 'there is no checkpoint in out/checkpoints; start a new run, without --restart$' "$dir/limit/err"
ok $? "... without a snapshot: that it begins again"

shown="$dir/part/err"
go part 1 -n 2 && go part 1 -n 4 -r && go part 1 -n 6 -r
go part 1 -n 6 -r 4
[ $status = 0 ] && grep -q 'restart from out/checkpoints/checkpoint_000004' "$dir/part/log" && grep -q 'checkpoint_000006 is newer than the chosen checkpoint and is now named checkpoint_000006.unused' "$dir/part/log" && ! grep 'now (it was' "$dir/part/log"
ok $? "-r N; newer checkpoints are set aside"
go part 1 -r 99
[ $status = 1 ] && grep -q 'there is no checkpoint 99' "$dir/part/err"
ok $? "a number that is not there: a sentence"
go part 1 -r -P Gravity:Softening=0.02
[ $status = 1 ] && grep -q 'Softening = 0.02, but the checkpoint was made with 0.0139: this cannot be changed' "$dir/part/err"
ok $? "another softening is refused"
go part 1 -r -P Time:TimeMax=0.01
[ $status = 0 ] && grep -q '^out: this run has finished at time .*, after 6 soft steps; nothing to do$' "$dir/part/log" && says state finished part && says step 6 part
ok $? "a TimeMax that is over: a sentence, exit status 0, and the status stays"
sed -i 's/^state=.*/state=interrupted/' "$dir/part/out/status"
: > "$dir/part/out/cont"
before=$(cat "$dir/part/out/status")
go part 1 -r -P Gravity:Softening=0.02
[ $status = 1 ] && [ "$(cat "$dir/part/out/status")" = "$before" ] && ! cont part
ok $? "a restart that is refused: the status of the job before stays, and no file cont asks for another one"
go part 1 -r -P Time:TimeMax=0.01
[ $status = 0 ] && grep -q 'is at time .*, which is not before TimeMax = 0.01: there is nothing left to do' "$dir/part/log" && says state finished part && says reason TimeMax part && says checkpoint checkpoint_000006 part
ok $? "a TimeMax that is over, and a run that had not finished: it has now"
go part 1 -r 6 -n 6 -P Steps:Eta=0.45 -P Input:InitCondFile=absent.hdf5
[ $status = 0 ] && grep -q 'restart: Eta = 0.45 now (it was [0-9.]*)' "$dir/part/log"
ok $? "another Eta is taken and named; the initial conditions are not needed"
go part 1 -r 6 -n 6 -P Accuracy:Accuracy=fine
[ $status = 0 ] && grep -q 'restart: Accuracy = fine now (it was standard)' "$dir/part/log"
ok $? "so is another Accuracy"
(cd "$dir/part" && "$here/espalier" run -n 6 -P Output:OutputDir=branch -r out/checkpoints/checkpoint_000004 ../run.ini) > "$dir/part/log" 2> "$dir/part/err"
[ $? = 0 ] && [ -s "$dir/part/branch/steps.csv" ] && [ -e "$dir/part/out/checkpoints/checkpoint_000006" ]
ok $? "-r PATH into another OutputDir leaves the first alone"
(cd "$dir/part" && "$here/espalier" run -n 6 -P Output:OutputDir=other -P Checkpoints:CheckpointAtEnd=off -r out/checkpoints/checkpoint_000004 ../run.ini) > "$dir/part/log" 2> "$dir/part/err"
[ $? = 0 ] && grep -q -x 'checkpoint=' "$dir/part/other/status" && grep -q -x state=finished "$dir/part/other/status"
ok $? "... whose status names no checkpoint until it has one of its own"

go part 1 -n 6 --overwrite -r out/checkpoints/checkpoint_000004
[ $status = 0 ] && grep -q 'warning: --overwrite does nothing here: out/checkpoints/checkpoint_000004 is this run.s own' "$dir/part/err"
ok $? "-r PATH of the run's own folder: --overwrite is named as doing nothing"
go part 1 -n 6 -P Output:OutputDir=branch -r out/checkpoints/checkpoint_000004
[ $status = 1 ] && grep -q 'an earlier run.s .* are' "$dir/part/err"
go part 1 -n 6 -P Output:OutputDir=branch --overwrite -r out/checkpoints/checkpoint_000004
[ $status = 0 ] && [ ! -s "$dir/part/err" ]
ok $? "-r PATH of another folder: --overwrite takes effect"

# snapshots of a future that a restart discards
shown="$dir/branch/err $dir/branch/log"
set -- -P Output:NumFilesPerSnapshot=2
# A file beside each snapshot of a folder, as espalier-xdmf writes it.
describe() { for file in "$1"/snapshot_*.hdf5; do echo "describes ${file##*/}" > "${file%.hdf5}.xmf"; done; }
# go_on ARGUMENT...: the same run, and a file beside each of its snapshots
go_on() {
  go branch 2 "$@"
  [ $status != 0 ] || describe "$dir/branch/out"
}
here_now() { (cd "$dir/branch/out${1-}" && ls -d snapshot_* snapdir_* | tr '\n' ' '); }
files() { for k in "$@"; do printf 'snapdir_%s ' "$k"; done; for k in "$@"; do printf 'snapshot_%s.hdf5 snapshot_%s.xmf ' "$k" "$k"; done; }
go_on "$@" -n 4
go_on "$@" -r
[ $status = 0 ] && [ "$(here_now)" = "$(files 000 001 002 003 004)" ] && [ ! -e "$dir/branch/out/discarded" ]
ok $? "a restart that makes the same snapshots discards none"
before=$(cd "$dir/branch/out" && cksum snapshot_00[2-4].* snapdir_00[2-4]/*)
go branch 2 --check "$@" -r 4
[ $status = 0 ] && grep -q '^discards  *no snapshot$' "$dir/branch/log"
ok $? "... which --check foretells"
go branch 2 --check "$@" -r 4 -P Output:TimeBetSnapshot=0
[ $status = 0 ] && grep -q '^discards  *3 snapshots written after the checkpoint.* would be moved to out/discarded$' "$dir/branch/log" &&
  [ "$before" = "$(cd "$dir/branch/out" && cksum snapshot_00[2-4].* snapdir_00[2-4]/*)" ] && [ ! -e "$dir/branch/out/discarded" ]
ok $? "... and that with other output times some would be moved, without moving any"
go_on "$@" -r 4 -P Output:TimeBetSnapshot=0
[ $status = 0 ] && [ "$(here_now)" = "$(files 000 001 002 003)" ]
ok $? "other output times: snapshots of the way that is not gone do not stand among the new ones: $(here_now)"
[ "$(here_now /discarded/001)" = "$(files 002 003 004)" ] && [ "$(cd "$dir/branch/out/discarded/001" && cksum snapshot_00[2-4].* snapdir_00[2-4]/*)" = "$before" ] &&
  grep -q 'restart: 3 snapshots later than the checkpoint.* are now in out/discarded/001: snapshot_002, snapshot_003, snapshot_004$' "$dir/branch/log"
ok $? "... they are in discarded/001, whole, and named"
(cd "$dir/branch" && "$here/espalier" run --check -P Output:OutputDir=new -P Time:TimeMax=1 -P Input:InitCondFile=out/discarded/001/snapshot_004.hdf5 ../run.ini) > "$dir/branch/log" 2> "$dir/branch/err"
ok $? "... and can be read there"
go_on "$@" -r 4
[ $status = 0 ] && [ "$(here_now)" = "$(files 000 001 002 003 004)" ] && [ "$(here_now /discarded/002)" = "$(files 003)" ] && [ "$(here_now /discarded/001)" = "$(files 002 003 004)" ]
ok $? "back to the first times: those that come again at their time are replaced, one that does not is in discarded/002"
[ "$(cd "$dir/branch/out" && cksum snapshot_00[2-4].* snapdir_00[2-4]/*)" = "$before" ]
ok $? "... and the new ones are those of the first run, to the last bit"
go_on "$@" -r 4 -P Steps:Eta=0.45 -n 6
[ $status = 0 ] && [ "$(here_now)" = "$(files 000 001 002 003)" ] && [ "$(here_now /discarded/003)" = "$(files 002 003 004)" ]
ok $? "another Eta: no snapshot of the earlier run follows the new ones"
go branch 2 "$@" -r -P Output:SnapshotFileBase=shot
[ $status = 0 ] && [ "$(cd "$dir/branch/out" && ls -d shot_*.hdf5 | tr '\n' ' ')" = 'shot_003.hdf5 shot_004.hdf5 ' ] && [ -e "$dir/branch/out/discarded/004/snapshot_003.hdf5" ]
ok $? "another name: the same"

# a step before the checkpoint's
shown="$dir/early/err"
go early 1 -P Output:TimeBetStatistics=0.5 -n 4
sums() { (cd "$dir/$1/out" && cksum snapshot_* steps.csv); }
before=$(sums early)
go early 1 -P Output:TimeBetStatistics=0.5 -r 4 -n 2
[ $status = 1 ] && grep -q -e '-n 2: the checkpoint .*checkpoint_000004 is in soft step 4' "$dir/early/err" && [ "$(sums early)" = "$before" ]
ok $? "-n below the checkpoint's soft step is refused, and no file is touched"
go early 1 -P Output:TimeBetStatistics=0.5 -r 4 -n 4
[ $status = 0 ] && [ "$(sums early | grep snapshot)" = "$(echo "$before" | grep snapshot)" ]
ok $? "-n of the checkpoint's soft step: the same snapshots again"

# a run that has finished, whose newest checkpoint is earlier than its end
shown="$dir/ended/err $dir/ended/log"
go ended 1 -n 2 -P Checkpoints:CheckpointAtEnd=on && go ended 1 -r -P Checkpoints:CheckpointAtEnd=off
all() { (cd "$dir/ended/out" && find . -type f ! -name lock -exec cksum {} + | sort); }
before=$(all)
for option in -r '-r last' '-r -n 8'; do
  : > "$dir/ended/out/cont"
  # shellcheck disable=SC2086
  go ended 2 $option
  [ $status = 0 ] && grep -q '^out: this run has finished at time 0.125, after 8 soft steps; nothing to do$' "$dir/ended/log" && [ "$(all)" = "$before" ] &&
    grep -q '^-r 2 would go back to the newest checkpoint and discard the rows and snapshots' "$dir/ended/log"
  ok $? "a run that has finished: $option leaves its end as it is, and says how to go back"
done
was='the run had finished at time 0.125, in soft step 8;$'
from='it continues from time 0.015625, in soft step 2: later rows of tables are removed$'
go ended 1 --check -r -P Time:TimeMax=0.25
[ $status = 0 ] && grep -q "^  *$was" "$dir/ended/log" && grep -q "^  *$from" "$dir/ended/log" && [ "$(all)" = "$before" ]
ok $? "... with a larger TimeMax --check says where it continues"
go ended 1 -r -P Time:TimeMax=0.25 -n 10
[ $status = 0 ] && grep -q "^restart: $was" "$dir/ended/log" && grep -q "^restart: $from" "$dir/ended/log" && says step 10 ended
ok $? "... and so does the run"
go ended 1 -r 10 -P Time:TimeMax=0.25
[ $status = 0 ] && ! grep -q 'had finished' "$dir/ended/log" && says step 16 ended
ok $? "... but not where nothing is given up"
go ended 1 -r 10 -P Time:TimeMax=0.25
[ $status = 0 ] && grep -q 'had finished at time 0.25, in soft step 16' "$dir/ended/log"
ok $? "-r N goes back, and says what it gives up"

# files that only happen to have a name that a run uses
shown="$dir/names/err"
mkdir -p "$dir/names/out"
for file in lock status cont; do
  echo 'notes on many things' > "$dir/names/out/$file"
  for option in --overwrite --restart; do
    go names 1 $option -n 1
    [ $status = 1 ] && grep -q "error: out/$file exists and .* not.* move it away" "$dir/names/err" && grep -q many "$dir/names/out/$file"
    ok $? "a foreign file named $file: refused, and it is kept ($option)"
  done
  rm "$dir/names/out/$file"
done
for file in stop checkpoint; do
  head -c 1000 "$dir/plummer.hdf5" > "$dir/names/out/$file"
  go names 1 --overwrite -n 1
  [ $status = 0 ] && grep -q "warning: out/$file is not a request to this run" "$dir/names/err" && [ "$(wc -c < "$dir/names/out/$file")" = 1000 ]
  ok $? "a foreign file named $file: a warning names it, and it is kept"
  echo now > "$dir/names/out/$file"
  go names 1 --overwrite -n 1
  [ $status = 0 ] && [ ! -e "$dir/names/out/$file" ] && [ ! -s "$dir/names/err" ]
  ok $? "... and a request that an earlier run has left goes"
done

# two runs with one CheckpointDir, and the same parameter file in two places
shown="$dir/one/err $dir/two/err"
shared="-P Checkpoints:CheckpointDir=$dir/shared"
# shellcheck disable=SC2086
begin one $shared -P Time:TimeMax=2000
# shellcheck disable=SC2086
go two 1 $shared -n 2
[ $status = 1 ] && grep -q "error: another run (process $job on host .*) is under way in CheckpointDir = $dir/shared" "$dir/two/err" && [ ! -e "$dir/two/out/steps.csv" ]
ok $? "a second run with the same CheckpointDir is refused, also before the first checkpoint"
kill -USR1 $job
finish
for which in last "$(ls "$dir/shared" | sed -n 's/^checkpoint_0*//p')"; do
  # shellcheck disable=SC2086
  go two 1 $shared -r "$which"
  [ $status = 1 ] && grep -q "shared/checkpoint_.* is of a run with OutputDir = .*/one/out, but this run has OutputDir = out; .* --restart $dir/shared/checkpoint_" "$dir/two/err"
  ok $? "-r $which does not take another run's checkpoint, and says how"
done
last=$(ls -d "$dir"/shared/checkpoint_*) step=$(ls "$dir/shared" | sed -n 's/^checkpoint_0*//p')
mkdir -p "$dir/two/out"
: > "$dir/two/out/energy.csv"
# shellcheck disable=SC2086
go two 1 $shared -P Time:TimeMax=2000 -n $((step + 1)) -r "$last"
[ $status = 1 ] && grep -q "CheckpointDir = $dir/shared has checkpoints of another run (checkpoint_.*, with OutputDir = .*/one/out)" "$dir/two/err"
ok $? "by its path, but not with checkpoints beside the other run's"
# shellcheck disable=SC2086
go two 1 $shared -n 2 --overwrite
[ $status = 1 ] && grep -q "has checkpoints of another run" "$dir/two/err" && [ -e "$last/manifest" ]
ok $? "... which --overwrite does not remove either"
own="-P Checkpoints:CheckpointDir=$dir/own"
# shellcheck disable=SC2086
go two 1 $own -P Time:TimeMax=2000 -n $((step + 1)) -r "$last"
[ $status = 1 ] && grep -q "energy.csv exists: an earlier run's results are in OutputDir" "$dir/two/err"
ok $? "by its path, but not over other results"
rm "$dir/two/out/energy.csv"
# shellcheck disable=SC2086
go two 1 $own -P Time:TimeMax=2000 -n $((step + 1)) -r "$last"
[ $status = 0 ] && [ -s "$dir/two/out/steps.csv" ] && says checkpoint "checkpoint_$(printf %06d $((step + 1)))" two
ok $? "... and else it is taken"
# shellcheck disable=SC2086
go one 1 $shared -P Time:TimeMax=2000 -P Output:TimeBetSnapshot=0 -n $((step + 2)) -r $step
[ $status = 0 ]
ok $? "... which the run that wrote it takes as ever"
mv "$dir/one" "$dir/moved"
# shellcheck disable=SC2086
go moved 1 $shared -P Time:TimeMax=2000 -P Output:TimeBetSnapshot=0 -n $((step + 3)) -r
[ $status = 0 ]
ok $? "... also when its folder has been moved"

# links to another run's folders
shown="$dir/linked/err"
go mine 2 -n 2 -P Output:NumFilesPerSnapshot=2
theirs() { (cd "$dir/mine/out" && find checkpoints snapdir_000 -type f | sort | xargs cksum); }
before=$(theirs)
mkdir -p "$dir/linked/out/checkpoints"
go linked 2 --walltime 0 -P Output:NumFilesPerSnapshot=2
ln -s "$dir/mine/out/checkpoints/checkpoint_000002" "$dir/linked/out/checkpoints/checkpoint_000000"
ln -s "$dir/mine/out/snapdir_000" "$dir/linked/out/snapdir_001"
for _ in 1 2 3; do go linked 2 -r --walltime 0 -P Output:NumFilesPerSnapshot=2; done
[ $status = 0 ] && [ ! -h "$dir/linked/out/checkpoints/checkpoint_000000" ] && [ "$(theirs)" = "$before" ]
ok $? "a link among the checkpoints: the link goes, another run's checkpoint stays"
[ ! -h "$dir/linked/out/snapdir_001" ] && [ -d "$dir/linked/out/snapdir_001" ] && [ ! -e "$dir/linked/out/snapdir_001.old" ]
ok $? "the same with a folder of snapshots"

# a snapshot that could not be written before the run was stopped
shown="$dir/late/err $dir/late/log"
go late 1 --walltime 0
mkdir "$dir/late/out/snapshot_001.hdf5.tmp"
for _ in 1 2; do go late 1 -r --walltime 0; done
[ $status = 0 ] && grep -q 'snapshot 1 could not be written yet: the restart tries again' "$dir/late/err" && [ ! -e "$dir/late/out/snapshot_001.hdf5" ]
ok $? "stopped with a snapshot that is still to be written: a message says so"
rmdir "$dir/late/out/snapshot_001.hdf5.tmp"
go late 1 -r
[ $status = 0 ] && grep -q 'snapshot_001.hdf5 at time .* (late)' "$dir/late/log" && [ "$(ls "$dir/late/out" | grep -c '^snapshot_00[0-4].hdf5$')" = 5 ]
ok $? "... and the restart writes it"

# --overwrite
shown="$dir/over/err"
go over 2 -P Output:NumFilesPerSnapshot=2
describe "$dir/over/out"
cd "$dir/over/out" || exit 99
: > snapshot_0003.hdf5
: > snapshot_003.hdf5.mine
: > other_003.hdf5
: > snapdir_003/other_003.0.hdf5
: > snapshot_x.hdf5
cp ../../plummer.hdf5 snapdir_004/ic.hdf5
cd "$here" || exit 99
go over 1 --overwrite -n 1 -P Input:InitCondFile=absent.hdf5
[ $status = 1 ] && [ -e "$dir/over/out/snapshot_004.hdf5" ]
ok $? "--overwrite with a start that fails removes no snapshot"
go over 1 --overwrite --no-output -n 1
[ $status = 0 ] && [ -e "$dir/over/out/snapshot_004.hdf5" ]
ok $? "--overwrite --no-output: nor does that"
go over 1 --overwrite -n 1 -P Time:TimeMax=1 -P Input:InitCondFile=out/snapdir_004/snapshot_004.0.hdf5
[ $status = 1 ] && grep -q 'is the run.s input and has the name of an output' "$dir/over/err" && [ -e "$dir/over/out/snapdir_004/snapshot_004.1.hdf5" ]
ok $? "--overwrite does not remove the input"
# [1] and * are no patterns but names
mkdir -p "$dir/glob/r[1]*"
cp "$dir/plummer.hdf5" "$dir/glob/r[1]*/snapshot_007.hdf5"
shown="$dir/glob/err"
for option in --overwrite --no-output; do
  go glob 1 $option -n 1 -P "Output:OutputDir=r[1]*" -P "Input:InitCondFile=r[1]*/snapshot_007.hdf5"
  [ $status = 1 ] && grep -q 'is the run.s input and has the name of an output' "$dir/glob/err" && [ -e "$dir/glob/r[1]*/snapshot_007.hdf5" ]
  ok $? "... nor where its folder has the characters of a pattern ($option)"
done
go glob 1 -n 1 -P "Output:OutputDir=r[1]*"
[ $status = 1 ] && grep -q 'an earlier run.s snapshots are in OutputDir' "$dir/glob/err"
ok $? "... where snapshots are seen, too"
shown="$dir/over/err"
go over 1 --overwrite -n 1 -P Input:InitCondFile=out/snapdir_004/ic.hdf5
left=$(cd "$dir/over/out" && find . -name '*.hdf5*' -o -name '*.xmf' -o -name 'snapdir*' | LC_ALL=C sort | tr '\n' ' ')
[ $status = 0 ] && [ "$left" = "./other_003.hdf5 ./snapdir_003 ./snapdir_003/other_003.0.hdf5 ./snapdir_004 ./snapdir_004/ic.hdf5 ./snapshot_000.hdf5 ./snapshot_0003.hdf5 ./snapshot_001.hdf5 ./snapshot_003.hdf5.mine ./snapshot_x.hdf5 " ]
ok $? "--overwrite removes the earlier run's snapshots and nothing else: $left"

# --quiet
shown="$dir/quiet/err $dir/quiet/log"
go quiet 1 -q -n 3
[ $status = 0 ] && ! grep -q -E '^(time| +(step|[0-9]+)) ' "$dir/quiet/log" && grep -q '^snapshot out/snapshot_000.hdf5' "$dir/quiet/log" && grep -q '^done: time .* after 3 soft steps' "$dir/quiet/log" &&
  [ "$(grep -c '^[0-9]' "$dir/quiet/out/steps.csv")" = 3 ]
ok $? "--quiet: no progress; tables as ever"
[ "$(awk 'length > 100' "$dir/quiet/log")" = "" ]
ok $? "no line is longer than 100 columns"

# how to stop it
shown="$dir/hint/log"
hint='^to stop it with a checkpoint: touch out/stop$'
go hint 2 -n 1
[ "$(grep -c "$hint" "$dir/hint/log")" = 1 ]
ok $? "on several ranks a run says how to stop it, since Ctrl-C may leave no time"
for option in '1' '2 -q' '2 --no-output'; do
  # shellcheck disable=SC2086
  go hint $option --overwrite -n 1
  [ $status = 0 ] && ! grep -q "$hint" "$dir/hint/log"
  ok $? "... but not: $option"
done
"$here/espalier" run --help | grep -q "Under mpirun, Ctrl-C and SIGTERM leave" && "$here/espalier" run --help | grep -q "touch OUTPUTDIR/stop"
ok $? "so does run --help"

# --no-output
shown="$dir/none/err $dir/none/log"
begin none --no-output
kill -USR2 $job
kill -USR1 $job
finish
[ $status = 0 ] && says state interrupted none && says reason SIGUSR1 none && says checkpoint '' none && ! cont none
ok $? "--no-output: a stop ends the run, without a request to submit it again"
[ ! -e "$dir/none/out/checkpoints" ] && ! ls "$dir/none/out" | grep -q '^snapshot'
ok $? "... without a checkpoint"
"$here/espalier" run --walltime 1:2:3:4 "$dir/run.ini" > "$dir/log" 2>&1
[ $? = 2 ] && grep -q "option --walltime: expected .*found '1:2:3:4'" "$dir/log"
ok $? "a walltime that is none: a sentence"
echo "1..$number"
exit $failed
