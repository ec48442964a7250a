#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A run whose folder or lock is removed, renamed or replaced while it goes on; FIFOs in the place of its files; a
# checkpoint that was renamed; a signal before the program has begun; a run that cannot be trusted.
. "${srcdir:-.}/tests/harness.sh"
parts_model 500
limit=60   # what hangs, ends
has_rows() { [ "$(cat "$1/out/steps.csv" 2> /dev/null | wc -l)" -gt 8 ]; }
long='-P Time:TimeMax=1000 -P Output:TimeBetSnapshot=0'
# under_way NAME OPTION...: a long run without a launcher, which takes longer than the run; $job
under_way() {
  run=$1
  shift
  begin "$run" 0 $long "$@"
  within 30 has_rows "$run"
}
cont() { [ -e "$1/out/cont" ]; }
# says_in FOLDER LINE: the status file in this folder of the run $name
says_in() { has "$name/$1/status" "$2"; }
# goes_on FOLDER OPTION...: a restart from there takes some steps more, and leaves as many rows
goes_on() {
  folder=$1
  shift
  step=$(($(sed -n 's/^checkpoint_step=//p' "$name/$folder/status") + 3))
  go "$name" 0 -r -n $step $long "$@"
  ends 0 && tail -n 1 "$name/$folder/steps.csv" | grep -q "^$step,"
}

under_way removed
rm -r removed/out
ended
ends 1 && has removed/err 'OutputDir = out was removed' &&
  has removed/err '--restart -P Output:OutputDir=/.*/out-rescue$'
ok $? "OutputDir is removed: the run says so, and ends with exit status 1"
[ ! -e removed/out ] && says_in out-rescue '^state=failed$' &&
  says_in out-rescue '^reason=OutputDir = out was removed' && says_in out-rescue '^checkpoint=checkpoint_'
ok $? "... does not make the folder again, and leaves its state in out-rescue"
check "... from where it continues" goes_on out-rescue -P Output:OutputDir=out-rescue

name=quoted
mkdir quoted
sed 's/^OutputDir = out$/OutputDir = it is out/' run.ini > quoted.ini
(cd quoted && exec "$here/espalier" run $long ../quoted.ini) > quoted/log 2> quoted/err < /dev/null &
job=$!
begun_quoted() { [ "$(cat "quoted/it is out/steps.csv" 2> /dev/null | wc -l)" -gt 8 ]; }
within 30 begun_quoted
rm -r "quoted/it is out"
ended
ends 1 && has quoted/err "continue with --restart -P 'Output:OutputDir=/.*/it is out-rescue'\$"
ok $? "... a name with spaces is quoted for a shell"
go quoted 2 -P Output:OutputDir='to stop' -n 1
check "... also of the file that stops a run" has quoted/log "^to stop it with a checkpoint: touch 'to stop/stop'\$"

go nested 1 -P Output:OutputDir=not/there/out -n 1
check "a run that makes more than one folder says so" \
  has nested/log '^note: OutputDir = not/there/out: not was not there, and is made with what follows$'

under_way renamed
mv renamed/out renamed/results
mkdir renamed/out   # of another run
ended
ends 1 && has renamed/err 'OutputDir = out was moved' && says_in results '^state=failed$' &&
  [ -z "$(ls -A renamed/out)" ] && [ ! -e renamed/out-rescue ]
ok $? "OutputDir is renamed: the run follows it, and writes nothing into another folder of the old name"
first=$(awk -F, '/^[0-9]/ { print $1; exit }' renamed/results/steps.csv)
goes_on results -P Output:OutputDir=results && [ "$first" = 1 ]
ok $? "... and continues there with all its rows"

under_way unlocked
rm unlocked/out/lock
ended
ends 1 && has unlocked/err "has lost its file 'lock'" && says_in out '^state=failed$' && [ -e unlocked/out/lock ]
ok $? "the file lock is removed: the same, within the folder"
check "... where it continues" goes_on out

under_way entered
kill -STOP $job
rm entered/out/lock
(cd entered && espalier run --overwrite -n 4 ../run.ini) > entered/log2 2> entered/err2 < /dev/null
second=$?
sums() { (cd entered/out && cksum "$@"); }
before=$(sums snapshot_000.hdf5 snapshot_001.hdf5 parameters-used.ini)
kill -CONT $job
ended
[ $second = 0 ] && [ $status = 1 ] && has entered/err "has another file 'lock', so another run may use the folder"
ok $? "another run enters the folder: the first one notices, and ends with exit status 1"
[ "$(sums snapshot_000.hdf5 snapshot_001.hdf5 parameters-used.ini)" = "$before" ] && ! cont entered
ok $? "... and leaves the other's results alone"
says_in out-rescue '^state=failed$' && goes_on out-rescue -P Output:OutputDir=out-rescue
ok $? "... its own state is in out-rescue, and continues"

under_way replaced
echo host=elsewhere > replaced/lock
mv replaced/lock replaced/out/lock
noticed() { has replaced/err 'so another run may use the folder'; }
within 30 noticed
before=$(cd replaced/out && cksum ./*)
ended
ends 1 && [ "$(cd replaced/out && cksum ./*)" = "$before" ]
ok $? "once it has noticed a run writes nothing more there"

under_way apart -P Checkpoints:CheckpointDir=kept
kill -USR2 $job
kept() { ls apart/kept/checkpoint_*[0-9]/manifest > /dev/null 2>&1; }
within 30 kept
rm -r apart/kept
ended
ends 1 && has apart/err 'CheckpointDir = kept was removed' && [ ! -e apart/kept ] && says_in out '^state=failed$' &&
  ls apart/out/checkpoints/checkpoint_*[0-9]/manifest > /dev/null
ok $? "CheckpointDir is removed: the state is in OutputDir"
check "... and continues" goes_on out -P Checkpoints:CheckpointDir=

go two 2 -P Time:TimeMax=100 -P Output:TimeBetSnapshot=0 -n 3 && [ $status = 0 ]
begin two 2 $long -r
further() { has two/log '^ *12 '; }
within 30 further
rm -r two/out
ended
[ $status != 0 ] && [ ! -e two/out ] &&
  [ -e "two/out-rescue/checkpoints/$(sed -n 's/^checkpoint=//p' two/out-rescue/status)/rank_00001" ]
ok $? "two ranks: all of them write to the rescue folder"

# FIFOs. What is opened as a file would wait for ever.
under_way fifo
mkfifo fifo/out/status.tmp
kill -USR1 $job
ended
ends 0 && [ -e fifo/out/cont ] && has fifo/err 'warning: out/status cannot be written: it is not a regular file'
ok $? "a FIFO in the place of status.tmp: a warning, a checkpoint, and the file cont"
rm -f fifo/out/status.tmp
for file in status.tmp lock parameters-used.ini energy.csv; do
  mv "fifo/out/$file" fifo/kept 2> /dev/null
  mkfifo "fifo/out/$file"
  go fifo 0 -r -P Time:TimeMax=1000
  ends 1 && has fifo/err "out/$file.*\(is not\|regular\)"
  ok $? "a restart with a FIFO named $file: refused ($(head -n 1 fifo/err))"
  rm "fifo/out/$file"
  mv fifo/kept "fifo/out/$file" 2> /dev/null
done
last=$(cd fifo/out/checkpoints && ls -d checkpoint_*[0-9] | tail -n 1)
for file in manifest rank_00000; do
  mv "fifo/out/checkpoints/$last/$file" fifo/kept
  mkfifo "fifo/out/checkpoints/$last/$file"
  go fifo 0 -r -P Time:TimeMax=1000
  ends 1 && has fifo/err "a damaged checkpoint is skipped: .*$last/$file cannot be opened: it is not a regular file"
  ok $? "a checkpoint with a FIFO named $file is damaged"
  rm "fifo/out/checkpoints/$last/$file"
  mv fifo/kept "fifo/out/checkpoints/$last/$file"
done

# a checkpoint with another's name
go names 0 -n 2 && go names 0 -n 4 -r
mv names/out/checkpoints/checkpoint_000002 names/out/checkpoints/checkpoint_000099
go names 0 -n 6 -r
ends 0 && has names/err 'checkpoint_000099 was renamed: its manifest says that it is checkpoint_000002' &&
  has names/log '^restart from out/checkpoints/checkpoint_000004'
ok $? "a checkpoint renamed to a higher number is named, and not used"
cp -r names/out/checkpoints/checkpoint_000006 names/mine
go names 0 -n 7 -P Output:OutputDir=branch -r mine
ok $status "... but any other name will do"

# signals before the program has begun
for signal in 10 15; do   # USR1, TERM
  mkdir "early-$signal"
  (cd "early-$signal" &&
    timeout -k 10 60 "$here/tests/pending" $signal espalier run -P Time:TimeMax=10000 ../run.ini) \
    > "early-$signal/log" 2> "early-$signal/err" < /dev/null
  [ $? = 0 ] && reports early-$signal state=interrupted && reports early-$signal step=0 &&
    [ -e "early-$signal/out/cont" ]
  ok $? "signal $signal before the program begins: a checkpoint in the first soft step, and the file cont"
  (cd "early-$signal" &&
    timeout -k 10 60 "$here/tests/pending" $signal espalier run --check ../run.ini) > /dev/null 2>&1
  [ $? -ge 124 ]   # timeout passes a death by signal on in its own way
  ok $? "... which ends --check as ever"
done

# a run that cannot be trusted
set -- -P Split:Mode=tree -P Split:SoftStep=0 -P Steps:Scheme=shared -P Steps:FixedStep=0.5 -P Time:TimeMax=2 \
  -P Gravity:Softening=0.001 -P Output:TimeBetSnapshot=1
go energy 0 "$@"
ends 3 && reports energy state=untrusted &&
  has energy/out/status '^reason=TimeMax; the largest |dE/E| is [0-9.e+-]*$' &&
  has energy/err 'error: the run has finished, but cannot be trusted: the largest |dE/E| is .* (exit status 3)' &&
    [ -e energy/out/snapshot_002.hdf5 ]
ok $? "a large energy error: all outputs, state=untrusted and exit status 3"
go energy 0 "$@" -r
ends 3 && reports energy state=untrusted && has energy/log 'this run has finished'
ok $? "... and a restart has nothing to do, with the same exit status"
go energy 2 "$@" --overwrite --no-output -n 2
check "... as on two ranks, which -n ends" test $status = 3
begin stopped 0 "$@" -P Time:TimeMax=1e5 -P Output:TimeBetStatistics=1
rows_enough() { [ "$(rows stopped/out/energy.csv 2> /dev/null | wc -l)" -gt 12 ]; }
within 30 rows_enough && touch stopped/out/stop
ended
name=stopped
ends 3 'error: the run was interrupted (.*), and cannot be trusted: the largest |dE/E| is .* (exit status 3; -r' &&
  reports stopped state=untrusted && [ ! -e stopped/out/cont ]
ok $? "interrupted with such an error: exit status 3 and no cont, so that a chain stops"
check "... and -r can go on" says 0 '^continues ' -- \
  eval "(cd stopped && espalier run --check -r \
    $(printf "'%s' " "$@" -P Time:TimeMax=1e5 -P Output:TimeBetStatistics=1) ../run.ini)"

# a CheckpointDir of another run
mkdir shared
(cd shared && launch 1 run -n 1 -P Output:OutputDir=one -P Checkpoints:CheckpointDir=both ../run.ini) > said 2> err
for how in '' --overwrite --check; do
  (cd shared &&
    launch 1 run $how -n 1 -P Output:OutputDir=two -P Checkpoints:CheckpointDir=both ../run.ini) > said 2> err
  [ $? = 1 ] && has err 'CheckpointDir = both has checkpoints of another run (checkpoint_000001, .*choose another' &&
    [ -e shared/both/checkpoint_000001 ] && [ ! -e shared/two ]
  ok $? "checkpoints of another run in CheckpointDir: named, and kept (run $how)"
done

# what Accuracy promises: two bodies of e = 0.999 by block steps
pair() {   # MASS: of the second one
  awk -v m="$1" 'BEGIN { v = sqrt(0.001 / 1.999); a = m / (1 + m); b = 1 / (1 + m)
    printf "%.17g 0 0 0 %.17g 0 %.17g\n%.17g 0 0 0 %.17g 0 %.17g\n",
      -1.999 * a, -v * a, b, 1.999 * b, v * b, a }' > pair.txt
}
set -- -P Split:Mode=tree -P Steps:Scheme=block -P Time:TimeMax=3.6 -P Gravity:Softening=1e-4 -P Split:SoftStep=0 \
  -P Output:TimeBetSnapshot=0 \
  -P Input:InitCondFile=../pair.txt
pair 1
go missed 0 "$@"
ends 0 'the energy was off by [0-9.]*e-0[34] at time [0-9.]*, [0-9.]* times as much as promised ' &&
  has missed/log '^      Accuracy = standard promises 1.0e-04$' && reports missed state=finished
ok $? "an energy error above three times what Accuracy promises: a warning"
go finest 0 "$@" -P Accuracy:Accuracy=finest
ends 3 'cannot be trusted: the largest |dE/E| is .*, and Accuracy = finest promises 1.0e-06 (exit status 3)' &&
  reports finest state=untrusted
ok $? "... above a hundred times: exit status 3"
go given 0 "$@" -P Steps:Eta=0.1 -P Accuracy:Accuracy=finest
ends 0 && has given/log '^      nothing is promised where Eta is given$' && lacks given/err promised
ok $? "nothing is promised with steps given by hand"
pair 1e-6
go momentum 0 "$@"
ends 0 'warning: the momentum was off by [0-9.]*e+0[01] sum m|v| at time 3.6, .* times as much as promised'
ok $? "a large error of the momentum: a warning"
finish
