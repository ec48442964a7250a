#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs that are stopped by signals, files or the clock, and gone on with; what is refused at a start, and at a restart.
. "${srcdir:-.}/tests/harness.sh"
parts_model 1000

has_rows() { [ "$(cat "$1/out/steps.csv" 2> /dev/null | wc -l)" -gt "$2" ]; }
# under_way NAME OPTION...: a long run without a launcher, under way; $job
long='-P Time:TimeMax=100 -P Output:TimeBetSnapshot=0'
under_way() {
  run=$1
  shift
  begin "$run" 0 $long "$@"
  within 30 has_rows "$run" "${least:-8}"
}
cont() { [ -e "$1/out/cont" ]; }
some_checkpoint() { ls "$1"/out/checkpoints/checkpoint_*/manifest > /dev/null 2>&1; }

for signal in USR1 TERM HUP INT; do
  under_way $signal
  check "under way, the status file says state=running" reports $signal state=running
  kill -$signal $job
  ended
  ends 0 && reports $signal state=interrupted && reports $signal reason=SIG$signal && some_checkpoint $signal
  ok $? "SIG$signal: a checkpoint, exit status 0, state=interrupted"
  said=0
  has "$signal/err" \
    '^espalier: SIGINT: the run stops within this soft step or the next; a second SIGINT ends it at once' && said=1
  if [ $signal = INT ]; then [ $said = 1 ]; else [ $said = 0 ]; fi
  ok $? "SIG$signal: Ctrl-C: a message at once reports run what=the waits for"
  if [ $signal = INT ]; then ! cont $signal; else cont $signal; fi
  ok $? "SIG$signal: the file cont reports submit whether=to again"
done
# a terminal that is closed, with the process that reads the output
mkdir -p closed
mkfifo closed/words
cat closed/words > closed/log &
reader=$!
(cd closed && exec espalier run $long ../run.ini) > closed/words 2> closed/err < /dev/null &
job=$!
within 30 has_rows closed 8
kill -HUP $job
kill -KILL $reader
ended
reports closed state=interrupted && reports closed reason=SIGHUP && some_checkpoint closed && cont closed
ok $? "SIGHUP, and no process reads the output any more: a checkpoint"
(trap '' HUP; cd closed &&
  exec espalier run --overwrite -P Time:TimeMax=1000 -P Output:TimeBetSnapshot=0 ../run.ini) > closed/log \
  2> closed/err < /dev/null &
job=$!
begun() { reports closed state=running && has closed/log '^energy' && has_rows closed 4; }
within 30 begun
kill -HUP $job
before=$(wc -l < closed/out/steps.csv)
within 30 has_rows closed $((before + 8)) && ! gone && reports closed state=running
ok $? "SIGHUP that is ignored stays ignored"
kill -TERM $job
ended
# where one of the two files can no longer be written; with cont a chain of jobs goes on, without it the exit status
# reports file what=the does not
under_way no-status
rm no-status/out/status && mkdir -p no-status/out/status/x
kill -USR1 $job
ended
ends 0 && cont no-status && has no-status/err 'warning: out/status cannot be written'
ok $? "no status file: a warning, and the file cont"
under_way no-end
rm no-end/out/status && mkdir -p no-end/out/status/x
: > no-end/out/stop
ended
ends 1 && ! cont no-end && some_checkpoint no-end &&
  has no-end/err 'error: out/status could not be replaced: the run is interrupted (the file .stop.)'
ok $? "no status file, and no file cont: a sentence, and exit status 1"
under_way no-cont
mkdir -p no-cont/out/cont/x
kill -USR1 $job
ended
ends 1 && reports no-cont state=interrupted && some_checkpoint no-cont &&
  has no-cont/err 'warning: out/cont cannot be written'
ok $? "no file cont: a checkpoint, a warning and exit status 1"
step=$(sed -n 's/^step=//p' USR1/out/status)
go USR1 1 $long -n $((step + 5)) -r last
ok $status "a restart behind SIGUSR1"
cont USR1
[ $? = 1 ] && reports USR1 state=finished && reports USR1 step=$((step + 5))
ok $? "... state=finished, and no file cont"
go whole 1 $long -n $((step + 5))
check "... the same snapshots and tables as of a run that was not interrupted" same whole USR1

under_way twice -P Split:SoftStep=1
kill -INT $job
kill -INT $job
sleep 0.1
kill -INT $job 2> /dev/null
ended
# at once, unless the step was over before the second one came
[ $status = 130 ] && reports twice state=failed || { [ $status = 0 ] && some_checkpoint twice; }
ok $? "SIGINT again and again ends the process (status $status)"

under_way go-on
kill -USR2 $job
check "SIGUSR2: a checkpoint" within 10 some_checkpoint go-on
before=$(wc -l < go-on/out/steps.csv)
check "... and the run goes on" within 10 has_rows go-on $((before + 5))
: > go-on/out/checkpoint
first=$(ls go-on/out/checkpoints)
another() { [ "$(ls go-on/out/checkpoints)" != "$first" ] && [ ! -e go-on/out/checkpoint ]; }
check "the file 'checkpoint': a checkpoint, and the file is gone" within 15 another
: > go-on/out/stop
ended
ends 0 && reports go-on state=interrupted && reports go-on reason="the file 'stop'" && ! cont go-on &&
  [ ! -e go-on/out/stop ]
ok $? "the file 'stop': stopped, no file cont, and the file is gone"
[ "$(ls go-on/out/checkpoints | wc -l)" = 2 ]
ok $? "two checkpoints are kept"

least=1 under_way limit --walltime 0:04
ended
ends 0 && reports limit state=interrupted && reports limit reason='the wall-clock limit is near' && cont limit
ok $? "--walltime: stopped before the limit"
SLURM_JOB_END_TIME=$(($(date +%s) + 4)) && export SLURM_JOB_END_TIME
least=1 under_way slurm
unset SLURM_JOB_END_TIME
ended
ends 0 && reports slurm reason='the wall-clock limit is near'
ok $? "SLURM_JOB_END_TIME: the same"

# one run at a time, restarts and starts alike
under_way alone -P Time:TimeMax=2000
kill -USR2 $job
within 10 some_checkpoint alone
for option in -r --overwrite; do
  (cd alone && espalier run $option ../run.ini) > second 2>&1
  [ $? = 1 ] && has second "error: another run (process $job on host .*) is under way in OutputDir = out" &&
    reports alone state=running && some_checkpoint alone
  ok $? "a second run in the same folder is refused: $option"
done
before=$(wc -l < alone/out/steps.csv)
check "... and the first goes on" within 10 has_rows alone $((before + 2))
(cd alone && exec espalier run -r -P Time:TimeMax=2000 -P Output:TimeBetSnapshot=0 ../run.ini) > second 2>&1 &
second=$!
waits() { has second 'waiting for its end'; }
check "a second run that goes on reports waits that=it for the first" within 15 waits
kill -KILL $job
ended
started() { has second '^restart from'; }
check "one that ends within seconds is waited for" within 15 started
kill -USR1 $second
check "... and gone on with" wait $second

# a run that is to stop tries three times, however often it has tried before
under_way vain -P Checkpoints:CheckpointDir=../ic.hdf5 -P Checkpoints:TimeBetCheckpoints=0.002
warned() { has vain/err 'no checkpoint could be written, the run continues'; }
within 10 warned
kill -USR1 $job
ended
ends 1 && [ "$(grep -c 'no checkpoint could be written, the run continues' vain/err)" = 4 ] &&
  has vain/err 'the run is to stop, but no checkpoint'
ok $? "a stop without a checkpoint: three tries beside that by the clock"

under_way clock -P Checkpoints:TimeBetCheckpoints=0.002
three() { [ "$(grep -c '^checkpoint ' clock/log)" -ge 3 ]; }
check "TimeBetCheckpoints: one after the other" within 20 three
kill -USR1 $job
ended

# signals to one rank of three
begin three 3 -P Time:TimeMax=100
within 30 has_rows three 4
last=$(pgrep -P $job -x espalier | tail -n 1)
if [ -n "$last" ]; then
  kill -USR1 "$last"
  ended
  ends 0 && reports three state=interrupted && cont three
  ok $? "SIGUSR1 to one rank of three stops all"
else
  kill -USR1 "$job"
  ended
  ok $status "SIGUSR1 to the launcher"
fi
go limit 1
ends 1 'exists: it is of an earlier run (.*[1-9] checkpoint.*tables); continue that run with --restart, or take ano'
ok $? "a start over checkpoints is refused"
before=$(ls limit/out/checkpoints)
go limit 1 -P Input:InitCondFile=absent.hdf5 --overwrite
ends 1 && [ "$(ls limit/out/checkpoints)" = "$before" ]
ok $? "a start that fails removes no checkpoint"
mkdir limit/out/checkpoints/mine
go limit 1 --overwrite -n 2 -P Checkpoints:CheckpointAtEnd=off
ends 0 && [ "$(ls limit/out/checkpoints)" = mine ]
ok $? "--overwrite removes the checkpoints, and nothing else"
go limit 1 -r
ends 1 \
  'there is no checkpoint in out/checkpoints; start a run from the last snapshot, InitCondFile = out/snapshot_001' &&
  ends 1 'InitCondFile = out/snapshot_001.hdf5, with another OutputDir; set CheckpointAtEnd = on' &&
  reports limit state=finished && reports limit step=2
ok $? "no checkpoint to go on from: a sentence, what is left to do, and the status of the run that had finished stays"
go limit 0 -P Input:InitCondFile=out/snapshot_001.hdf5 -P Output:OutputDir=beyond -n 1
ok $status "... which can be done"
sed -i 's/^state=.*/state=running/' limit/out/status
go limit 1 -r
ends 1 \
  'InitCondFile = out/snapshot_001.hdf5, with another OutputDir; TimeBetCheckpoints = 60 (minutes) sets how often'
ok $? "... after a kill before the first checkpoint: the same"
rm -r limit/out/snapshot_*
go limit 2 -r
ends 1 'there is no checkpoint in out/checkpoints; start a new run, without --restart$'
ok $? "... without a snapshot: that it begins again"

go part 1 -n 2 && go part 1 -n 4 -r && go part 1 -n 6 -r
go part 1 -n 6 -r 4
ends 0 && has part/log 'restart from out/checkpoints/checkpoint_000004' &&
  has part/log 'checkpoint_000006 is newer than the chosen checkpoint and is now named checkpoint_000006.unused' &&
  ! grep 'now (it was' part/log
ok $? "-r N; newer checkpoints are set aside"
go part 1 -r 99
check "a number that is not there: a sentence" ends 1 'there is no checkpoint 99'
go part 1 -r -P Gravity:Softening=0.02
ends 1 'Softening = 0.02, but the checkpoint was made with 0.0139: this cannot be changed'
ok $? "another softening is refused"
go part 1 -r -P Time:TimeMax=0.01
ends 0 && has part/log '^out: this run has finished at time .*, after 6 soft steps; nothing to do; a larger' &&
  reports part state=finished && reports part step=6
ok $? "a TimeMax that is over: a sentence, exit status 0, and the status stays"
sed -i 's/^state=.*/state=interrupted/' part/out/status
: > part/out/cont
before=$(cat part/out/status)
go part 1 -r -P Gravity:Softening=0.02
ends 1 && [ "$(cat part/out/status)" = "$before" ] && ! cont part
ok $? "a restart that is refused: the status of the job before stays, and no file cont asks for another one"
go part 1 -r -P Time:TimeMax=0.01
ends 0 && has part/log 'is at time .*, which is not before TimeMax = 0.01: there is nothing left to do' &&
  reports part state=finished && reports part reason=TimeMax && reports part checkpoint=checkpoint_000006
ok $? "a TimeMax that is over, and a run that had not finished: it has now"
go part 1 -r 6 -n 6 -P Steps:Eta=0.45 -P Input:InitCondFile=absent.hdf5
ends 0 && has part/log 'restart: Eta = 0.45 now (it was [0-9.]*)'
ok $? "another Eta is taken and named; the initial conditions are not needed"
go part 1 -r 6 -n 6 -P Accuracy:Accuracy=fine
ends 0 && has part/log 'restart: Accuracy = fine now (it was standard)'
ok $? "so is another Accuracy"
go part 0 -n 6 -P Output:OutputDir=branch -r out/checkpoints/checkpoint_000004
[ $status = 0 ] && [ -s part/branch/steps.csv ] && [ -e part/out/checkpoints/checkpoint_000006 ]
ok $? "-r PATH into another OutputDir leaves the first alone"
go part 0 -n 6 -P Output:OutputDir=other -P Checkpoints:CheckpointAtEnd=off -r out/checkpoints/checkpoint_000004
[ $status = 0 ] && grep -q -x 'checkpoint=' part/other/status && grep -q -x state=finished part/other/status
ok $? "... whose status names no checkpoint until it has one of its own"

go part 1 -n 6 --overwrite -r out/checkpoints/checkpoint_000004
ends 0 'warning: --overwrite does nothing here: out/checkpoints/checkpoint_000004 is this run.s own'
ok $? "-r PATH of the run's own folder: --overwrite is named as doing nothing"
go part 1 -n 6 -P Output:OutputDir=branch -r out/checkpoints/checkpoint_000004
ends 1 'it is of an earlier run'
go part 1 -n 6 -P Output:OutputDir=branch --overwrite -r out/checkpoints/checkpoint_000004
ends 0 && [ ! -s part/err ]
ok $? "-r PATH of another folder: --overwrite takes effect"

# snapshots of a future that a restart discards
set -- -P Output:NumFilesPerSnapshot=2
# A file beside each snapshot of a folder, as espalier-xdmf writes it.
describe() { for file in "$1"/snapshot_*.hdf5; do echo "describes ${file##*/}" > "${file%.hdf5}.xmf"; done; }
# go_on ARGUMENT...: the same run, and a file beside each of its snapshots
go_on() {
  go branch 2 "$@"
  [ $status != 0 ] || describe branch/out
}
here_now() { (cd "branch/out${1-}" && ls -d snapshot_* snapdir_* | tr '\n' ' '); }
files() { for k in "$@"; do printf 'snapdir_%s ' "$k"; done; for k in "$@"; do printf \
  'snapshot_%s.hdf5 snapshot_%s.xmf ' "$k" "$k"; done; }
go_on "$@" -n 4
go_on "$@" -r
ends 0 && [ "$(here_now)" = "$(files 000 001 002 003 004)" ] && [ ! -e branch/out/discarded ]
ok $? "a restart that makes the same snapshots discards none"
before=$(cd branch/out && cksum snapshot_00[2-4].* snapdir_00[2-4]/*)
go branch 2 --check "$@" -r 4
ends 0 && has branch/log '^discards  *no snapshot$'
ok $? "... which --check foretells"
go branch 2 --check "$@" -r 4 -P Output:TimeBetSnapshot=0
ends 0 && has branch/log '^discards  *3 snapshots written after the checkpoint.* would be moved to out/discarded$' &&
  [ "$before" = "$(cd branch/out && cksum snapshot_00[2-4].* snapdir_00[2-4]/*)" ] && [ ! -e branch/out/discarded ]
ok $? "... and that with other output times some would be moved, without moving any"
go_on "$@" -r 4 -P Output:TimeBetSnapshot=0
ends 0 && [ "$(here_now)" = "$(files 000 001 002 003)" ]
ok $? "other output times: snapshots of the way that is not gone do not stand among the new ones: $(here_now)"
[ "$(here_now /discarded/001)" = "$(files 002 003 004)" ] &&
  [ "$(cd branch/out/discarded/001 && cksum snapshot_00[2-4].* snapdir_00[2-4]/*)" = "$before" ] &&
  has branch/log \
  'restart: 3 snapshots later than the .* in out/discarded/001: snapshot_002, snapshot_003, snapshot_004$'
ok $? "... they are in discarded/001, whole, and named"
go branch 0 --check -P Output:OutputDir=new -P Time:TimeMax=1 -P Input:InitCondFile=out/discarded/001/snapshot_004.hdf5
ok $status "... and can be read there"
go_on "$@" -r 4
ends 0 && [ "$(here_now)" = "$(files 000 001 002 003 004)" ] && [ "$(here_now /discarded/002)" = "$(files 003)" ] &&
  [ "$(here_now /discarded/001)" = "$(files 002 003 004)" ]
ok $? "back to the first times: those that come again at their time are replaced, one that does not is in discarded/002"
[ "$(cd branch/out && cksum snapshot_00[2-4].* snapdir_00[2-4]/*)" = "$before" ]
ok $? "... and the new ones are those of the first run, to the last bit"
go_on "$@" -r 4 -P Steps:Eta=0.45 -n 6
ends 0 && [ "$(here_now)" = "$(files 000 001 002 003)" ] && [ "$(here_now /discarded/003)" = "$(files 002 003 004)" ]
ok $? "another Eta: no snapshot of the earlier run follows the new ones"
go branch 2 "$@" -r -P Output:SnapshotFileBase=shot
ends 0 && [ "$(cd branch/out && ls -d shot_*.hdf5 | tr '\n' ' ')" = 'shot_003.hdf5 shot_004.hdf5 ' ] &&
  [ -e branch/out/discarded/004/snapshot_003.hdf5 ]
ok $? "another name: the same"

# a step before the checkpoint's
go early 1 -P Output:TimeBetStatistics=0.5 -n 4
sums() { (cd "$1/out" && cksum snapshot_* steps.csv); }
before=$(sums early)
go early 1 -P Output:TimeBetStatistics=0.5 -r 4 -n 2
ends 1 '-n 2: the checkpoint .*checkpoint_000004 is in soft step 4' && [ "$(sums early)" = "$before" ]
ok $? "-n below the checkpoint's soft step is refused, and no file is touched"
go early 1 -P Output:TimeBetStatistics=0.5 -r 4 -n 4
ends 0 && [ "$(sums early | grep snapshot)" = "$(echo "$before" | grep snapshot)" ]
ok $? "-n of the checkpoint's soft step: the same snapshots again"

# a run that has finished, whose newest checkpoint is earlier than its end
go ended 1 -n 2 -P Checkpoints:CheckpointAtEnd=on && go ended 1 -r -P Checkpoints:CheckpointAtEnd=off
all() { (cd ended/out && find . -type f ! -name lock -exec cksum {} + | sort); }
before=$(all)
for option in -r '-r last' '-r -n 8'; do
  : > ended/out/cont
  go ended 2 $option
  ends 0 && has ended/log '^out: this run has finished at time 0.125, after 8 soft steps; nothing to do; a larger' &&
    [ "$(all)" = "$before" ] &&
    has ended/log '^-r 2 would go back to the newest checkpoint and discard the rows and snapshots'
  ok $? "a run that has finished: $option leaves its end as it is, and reports go how=to back"
done
was='the run had finished at time 0.125, in soft step 8;$'
from='it continues from time 0.015625, in soft step 2: later rows of tables are removed$'
go ended 1 --check -r -P Time:TimeMax=0.25
ends 0 && has ended/log "^  *$was" && has ended/log "^  *$from" && [ "$(all)" = "$before" ]
ok $? "... with a larger TimeMax --check says where it continues"
go ended 1 -r -P Time:TimeMax=0.25 -n 10
ends 0 && has ended/log "^restart: $was" && has ended/log "^restart: $from" && reports ended step=10
ok $? "... and so does the run"
go ended 1 -r 10 -P Time:TimeMax=0.25
ends 0 && lacks ended/log 'had finished' && reports ended step=16
ok $? "... but not where nothing is given up"
go ended 1 -r 10 -P Time:TimeMax=0.25
ends 0 && has ended/log 'had finished at time 0.25, in soft step 16'
ok $? "-r N goes back, and reports gives what=it up"

# files that only happen to have a name that a run uses
mkdir -p names/out
for file in lock status cont; do
  echo 'notes on many things' > "names/out/$file"
  for option in --overwrite --restart; do
    go names 1 $option -n 1
    ends 1 "error: out/$file exists and .* not.* move it away" && grep -q many "names/out/$file"
    ok $? "a foreign file named $file: refused, and it is kept ($option)"
  done
  rm "names/out/$file"
done
for file in stop checkpoint; do
  head -c 1000 ic.hdf5 > "names/out/$file"
  go names 1 --overwrite -n 1
  ends 0 "warning: out/$file is not a request to this run" && [ "$(wc -c < "names/out/$file")" = 1000 ]
  ok $? "a foreign file named $file: a warning names it, and it is kept"
  echo now > "names/out/$file"
  go names 1 --overwrite -n 1
  ends 0 && [ ! -e "names/out/$file" ] && [ ! -s names/err ]
  ok $? "... and a request that an earlier run has left goes"
done

# two runs with one CheckpointDir, and the same parameter file in two places
shared="-P Checkpoints:CheckpointDir=$dir/shared"
under_way one $shared -P Time:TimeMax=2000
go two 1 $shared -n 2
ends 1 "error: another run (process $job on host .*) is under way in CheckpointDir = $dir/shared" &&
  [ ! -e two/out/steps.csv ]
ok $? "a second run with the same CheckpointDir is refused, also before the first checkpoint"
kill -USR1 $job
ended
for which in last "$(ls shared | sed -n 's/^checkpoint_0*//p')"; do
  go two 1 $shared -r "$which"
  ends 1 \
    "shared/checkpoint_.* is of a run with OutputDir = .*/one/out, but this run has OutputDir = out; .* $dir/shared/"
  ok $? "-r $which does not take another run's checkpoint, and says how"
done
last=$(ls -d "$dir"/shared/checkpoint_*) step=$(ls shared | sed -n 's/^checkpoint_0*//p')
mkdir -p two/out
: > two/out/energy.csv
go two 1 $shared -P Time:TimeMax=2000 -n $((step + 1)) -r "$last"
ends 1 "CheckpointDir = $dir/shared has checkpoints of another run (checkpoint_.*, with OutputDir = .*/one/out)"
ok $? "by its path, but not with checkpoints beside the other run's"
go two 1 $shared -n 2 --overwrite
ends 1 "has checkpoints of another run" && [ -e "$last/manifest" ]
ok $? "... which --overwrite does not remove either"
own="-P Checkpoints:CheckpointDir=$dir/own"
go two 1 $own -P Time:TimeMax=2000 -n $((step + 1)) -r "$last"
check "by its path, but not over other results" ends 1 "energy.csv exists: it is of an earlier run"
rm two/out/energy.csv
go two 1 $own -P Time:TimeMax=2000 -n $((step + 1)) -r "$last"
ends 0 && [ -s two/out/steps.csv ] && reports two checkpoint="checkpoint_$(printf %06d $((step + 1)))"
ok $? "... and else it is taken"
go one 1 $shared -P Time:TimeMax=2000 -P Output:TimeBetSnapshot=0 -n $((step + 2)) -r $step
ok $status "... which the run that wrote it takes as ever"
mv one moved
go moved 1 $shared -P Time:TimeMax=2000 -P Output:TimeBetSnapshot=0 -n $((step + 3)) -r
ok $status "... also when its folder has been moved"

# links to another run's folders
go mine 2 -n 2 -P Output:NumFilesPerSnapshot=2
theirs() { (cd mine/out && find checkpoints snapdir_000 -type f | sort | xargs cksum); }
before=$(theirs)
mkdir -p linked/out/checkpoints
go linked 2 --walltime 0 -P Output:NumFilesPerSnapshot=2
ln -s "$dir"/mine/out/checkpoints/checkpoint_000002 linked/out/checkpoints/checkpoint_000000
ln -s "$dir"/mine/out/snapdir_000 linked/out/snapdir_001
for _ in 1 2 3; do go linked 2 -r --walltime 0 -P Output:NumFilesPerSnapshot=2; done
ends 0 && [ ! -h linked/out/checkpoints/checkpoint_000000 ] && [ "$(theirs)" = "$before" ]
ok $? "a link among the checkpoints: the link goes, another run's checkpoint stays"
[ ! -h linked/out/snapdir_001 ] && [ -d linked/out/snapdir_001 ] && [ ! -e linked/out/snapdir_001.old ]
ok $? "the same with a folder of snapshots"

# a snapshot that could not be written before the run was stopped
go late 1 --walltime 0
mkdir late/out/snapshot_001.hdf5.tmp
for _ in 1 2; do go late 1 -r --walltime 0; done
ends 0 'snapshot 1 could not be written yet: the restart tries again' && [ ! -e late/out/snapshot_001.hdf5 ]
ok $? "stopped with a snapshot that is still to be written: a message says so"
rmdir late/out/snapshot_001.hdf5.tmp
go late 1 -r
ends 0 && has late/log 'snapshot_001.hdf5 at time .* (late)' && [ "$(ls late/out |
  grep -c '^snapshot_00[0-4].hdf5$')" = 5 ]
ok $? "... and the restart writes it"

# --overwrite
go over 2 -P Output:NumFilesPerSnapshot=2
describe over/out
for file in snapshot_0003.hdf5 snapshot_003.hdf5.mine other_003.hdf5 snapdir_003/other_003.0.hdf5 snapshot_x.hdf5; do
  : > over/out/$file
done
cp ic.hdf5 over/out/snapdir_004/ic.hdf5
go over 1 --overwrite -n 1 -P Input:InitCondFile=absent.hdf5
ends 1 && [ -e over/out/snapshot_004.hdf5 ]
ok $? "--overwrite with a start that fails removes no snapshot"
go over 1 --overwrite --no-output -n 1
ends 0 && [ -e over/out/snapshot_004.hdf5 ]
ok $? "--overwrite --no-output: nor does that"
go over 1 --overwrite -n 1 -P Time:TimeMax=1 -P Input:InitCondFile=out/snapdir_004/snapshot_004.0.hdf5
ends 1 'is the run.s input and has the name of an output' && [ -e over/out/snapdir_004/snapshot_004.1.hdf5 ]
ok $? "--overwrite does not remove the input"
# [1] and * are no patterns but names
mkdir -p "glob/r[1]*"
cp ic.hdf5 "glob/r[1]*/snapshot_007.hdf5"
for option in --overwrite --no-output; do
  go glob 1 $option -n 1 -P "Output:OutputDir=r[1]*" -P "Input:InitCondFile=r[1]*/snapshot_007.hdf5"
  ends 1 'is the run.s input and has the name of an output' && [ -e "glob/r[1]*/snapshot_007.hdf5" ]
  ok $? "... nor where its folder has the characters of a pattern ($option)"
done
go glob 1 -n 1 -P "Output:OutputDir=r[1]*"
check "... where snapshots are seen, too" \
  ends 1 "(1 snapshot, tables); take another folder, as with -P 'Output:OutputDir=r\[1\]\*-2'; --overwrite would"
go over 1 --overwrite -n 1 -P Input:InitCondFile=out/snapdir_004/ic.hdf5
left=$(cd over/out && find . -name '*.hdf5*' -o -name '*.xmf' -o -name 'snapdir*' | LC_ALL=C sort | tr '\n' ' ')
expected="./other_003.hdf5 ./snapdir_003 ./snapdir_003/other_003.0.hdf5 ./snapdir_004 ./snapdir_004/ic.hdf5"
expected="$expected ./snapshot_000.hdf5 ./snapshot_0003.hdf5 ./snapshot_001.hdf5 ./snapshot_003.hdf5.mine"
ends 0 && [ "$left" = "$expected ./snapshot_x.hdf5 " ]
ok $? "--overwrite removes the earlier run's snapshots and nothing else: $left"

# --quiet
go quiet 1 -q -n 3
ends 0 && ! grep -q -E '^(time| +(step|[0-9]+)) ' quiet/log && has quiet/log '^snapshot out/snapshot_000.hdf5' &&
  has quiet/log '^done: time .* after 3 soft steps' &&
  [ "$(grep -c '^[0-9]' quiet/out/steps.csv)" = 3 ]
ok $? "--quiet: no progress; tables as ever"
[ "$(awk 'length > 100' quiet/log)" = "" ]
ok $? "no line is longer than 100 columns"

# how to stop it
hint='^to stop it with a checkpoint: touch out/stop$'
go hint 2 -n 1
[ "$(grep -c "$hint" hint/log)" = 1 ]
ok $? "on several ranks a run says how to stop it, since Ctrl-C may leave no time"
for option in '1' '2 -q' '2 --no-output'; do
  go hint $option --overwrite -n 1
  ends 0 && lacks hint/log "$hint"
  ok $? "... but not: $option"
done
espalier run --help | grep -q "Under mpirun, Ctrl-C and SIGTERM leave" && espalier run --help |
  grep -q "touch OUTPUTDIR/stop"
ok $? "so does run --help"

# --no-output
under_way none --no-output
kill -USR2 $job
kill -USR1 $job
ended
ends 0 && reports none state=interrupted && reports none reason=SIGUSR1 && reports none checkpoint= && ! cont none
ok $? "--no-output: a stop ends the run, without a request to submit it again"
[ ! -e none/out/checkpoints ] && ! ls none/out | grep -q '^snapshot'
ok $? "... without a checkpoint"
espalier run --walltime 1:2:3:4 run.ini > log 2>&1
[ $? = 2 ] && has log "option --walltime: expected .*found '1:2:3:4'"
ok $? "a walltime that is none: a sentence"
finish
