#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck disable=SC2059  # bytes
# run --check: the estimates against what a run then takes; exit status 1 where there is no room; nothing is written.
. "${srcdir:-.}/tests/harness.sh"
always_launched=yes   # without a launcher MPI may load other libraries, which count as memory of the program

parameters run.ini Output:OutputDir=out Output:TimeBetSnapshot=0.03125 Checkpoints:CheckpointAtEnd=on \
  Time:TimeMax=0.0625 \
  Gravity:Softening=0.03 Split:SoftStep=0.03125 Device:Backend=cpu $hybrid
model plummer -n 20000
# checked RANKS OPTION...: run --check; run ARGUMENT...: on one rank without a launcher
checked() {
  on=$1
  shift
  launch "$on" run --check "$@" run.ini
}
run() { launch 0 run "$@"; }
check "two ranks: placement and memory" \
  says 0 '^placement .*: ranks 0 to 1, 1 thread on .* are free$' \
  '^memory  *about .* per rank, measured in the first soft step' -- checked 2
cp said checked2
check "one rank" checked 1
! grep -q -e 'BoxSize' -e 'Redshift' -e 'HubbleParam' -e 'gas particle' -e '^time in the file' said
ok $? "no word about a file of one's own"
cp said checked
check "nothing was written" test ! -e out
try checked 1 -P Steps:Criterion=a -P Split:Mode=auto -P Split:SoftStep=0
has said '^  block steps .* [0-9.]*e-05  *[0-9]' && has said '^energy error .*e-05 by time steps'
ok $? "the steps of GADGET have a prediction of errors"
check "a transport that the run would refuse" \
  says 1 'Transport = nccl: messages of the backend cpu are in the host' -- checked 2 -P Device:Transport=nccl
launch 1 run -v run.ini > ran 2> err
ok $? "the run"
# the resident set of sanitizers is another one
plain=1
espalier --version | grep -q sanitizers && plain=0
# memory CHECKED RAN: at least the largest resident set, at most a quarter more. The pages of program and libraries that
# the system counts differ from process to process, by what it holds in memory: by this difference the bounds are wider.
memory() {
  awk -v plain=$plain '/^memory  *about/ { expected = $3; getline; was = $0; sub(/.*\(/, "", was); was += 0 }
    /^memory: at most/ { found = $0; sub(/.*resident set /, "", found); found += 0; is = $0; sub(/.* with /, "", is);
      is += 0 }
    END { printf "# memory: expected %g MB (program %g), found %g MB (program %g)\n", expected, was, found, is
      wider = was > is ? was - is : is - was
      exit !(expected > 0 && found > 0 && was > 0 && is > 0 &&
        (!plain || (expected + wider >= found && expected <= 1.25 * (found + wider)))) }' "$@"
}
check "memory: not less than the largest resident set, and at most a quarter more" memory checked ran
launch 2 run -v -P Output:OutputDir=two run.ini > ran2 2> err && memory checked2 ran2
ok $? "... on two ranks"
bytes=$(wc -c < out/snapshot_000.hdf5) count=$(ls out/snapshot_*.hdf5 | wc -l)
awk -v bytes="$bytes" -v count="$count" '/^a snapshot/ { expected = $3 * ($4 ~ /^kB/ ? 1e3 : $4 ~ /^MB/ ? 1e6 : 1e9);
  planned = $5 }
  END { printf "# snapshot: expected %g, found %g; %d and %d\n", expected, bytes, planned, count
    exit !(bytes < 1.02 * expected && bytes > 0.9 * expected && planned == count) }' checked
ok $? "snapshots: their size to 10 %, and their number"
run --check -P Output:OutputDir=not/there/out -P Output:TimeBetSnapshot=1e-6 run.ini > said 2> err
has said '^output folder  *not/there/out is not there; not and what follows would be made$' &&
  has said '^warning: [0-9]* snapshots of [0-9.]* [kM]B are planned, [0-9.]* GB in all: is TimeBetSnapshot = 1e-06 rig'
ok $? "very many snapshots, and folders that are to be made"
run --check -P Output:OutputDir=none -P Output:TimeBetSnapshot=1e6 run.ini > said 2> err
has said '^warning: TimeBetSnapshot = 1e+06 is longer than the run .*: snapshots are the first and the last one only$'
ok $? "an interval between snapshots that is longer than the run"
run -n 0 -P Output:OutputDir=many -P Output:TimeBetSnapshot=1e-6 run.ini > said 2> err
has err 'warning: [0-9]* snapshots of [0-9.]* [kM]B are planned, [0-9.]* GB in all.*: is TimeBetSnapshot = 1e-06 right'
ok $? "... at a start"
bytes=$(du -b -s out/checkpoints/checkpoint_* | awk '{ print $1 }')
awk -v bytes="$bytes" '/^a checkpoint/ { expected = $3 * ($4 ~ /^kB/ ? 1e3 : $4 ~ /^MB/ ? 1e6 : 1e9) }
  END { printf "# checkpoint: expected %g, found %g\n", expected, bytes; exit !(bytes < 1.05 * expected &&
    bytes > 0.9 * expected) }' checked
ok $? "a checkpoint's size to 10 %"
# TIPSY: time 2.5, two gas particles
{
  printf \
    '\000\000\000\000\000\000\004\100\002\000\000\000\003\000\000\000\002\000\000\000\000\000\000\000\000\000\000\000'
  for x in 077 277; do
    printf "\\000\\000\\200\\077\\000\\000\\200\\$x"
    printf '\000\000\000\000%.0s' 1 2 3 4 5 6 7 8 9 10
  done
} > gas.tipsy
set -- -P Input:InitCondFile=gas.tipsy -P Input:ICFormat=tipsy -P Output:OutputDir=gas
try checked 1 "$@" && has said '^time in the file  *2.5, which is not used' &&
  has said '^warning: gas.tipsy has 2 gas particles (type 0): only gravity acts on them'
ok $? "a file of others: its time, and what is not done"
check "a model's own units" has said '^units  *none: the numbers of a model with G = 1'
try checked 1 "$@" -P Units:GravityConstantInternal=0 -P Time:TimeMax=2 -P Gravity:Softening=0.05 &&
  has said '^units  *length 1 kpc, mass 1e+10 Msun, velocity 1 km/s, time 0.9778 Gyr$' &&
    has said '^begins at .* ends at 2 (1.956 Gyr)$'
ok $? "physical units, and the end in Gyr"
for command in force "run -n 1"; do
  try espalier $command "$@" run.ini && [ "$(grep -c '^espalier: warning: gas.tipsy has 2 gas particles' err)" = 1 ]
  ok $? "$command: says so too"
done
check "nothing is a default" lacks checked '(default)'
sed -e '/^Softening/d' -e '/^TimeMax/d' run.ini > default.ini
try run --check "$@" -P Output:OutputDir=default default.ini && has said ' softening 0.1 (default), ' &&
  has said 'ends at 1 (default)$'
ok $? "defaults of softening and end are marked"
try run -n 0 "$@" -P Output:OutputDir=default default.ini && has said '^note: Softening = 0.1 (default)$' &&
  has said '^note: TimeMax = 1 (default)$'
ok $? "... at the start of a run too"
# output times before the beginning and after the end
printf '%s\n' 0 0.5 1 1.5 2 2.5 3 > times.txt
never="4 of 7 output times in OutputListFilename are outside the run, the first is 0: the run goes from time 1 to 2.25"
set -- "$@" -P Output:OutputDir=times -P Output:TimeBetSnapshot=0 -P Output:OutputListFilename=times.txt \
  -P Time:TimeBegin=1 -P Time:TimeMax=2.25
try checked 2 "$@" && [ "$(grep -c "^warning: $never" said)" = 1 ]
ok $? "output times outside the run"
try run -n 0 "$@" run.ini && [ "$(grep -c "^espalier: warning: $never" err)" = 1 ]
ok $? "... at the start of a run too"
try checked 1 "$@" -P Output:OutputDir=all -P Time:TimeBegin=0 -P Time:TimeMax=3 && lacks said 'outside the run'
ok $? "... all of them come"
# masses too small, too large: positions and velocities do not fit them
printf '0 0 0 0 0 1 %s\n1 0 0 0 1 0 %s\n' 1e-6 1e-6 > fast.txt
printf '0 0 0 0 0 1 %s\n1 0 0 0 1 0 %s\n' 1e6 1e6 > slow.txt
printf '0 0 0 0 0 1 %s\n1 0 0 0 1 0 %s\n' 1 1 > fit.txt
for model in fast slow fit; do
  try run -n 0 -P Input:InitCondFile=$model.txt -P Input:ICFormat=ascii -P Output:OutputDir=$model run.ini
  status=$? warned=$(grep -c "^espalier: warning: the virial ratio 2 T / |W| is .* are the units of mass, length and \
velocity right? It would be about 1 with \[Units\] " err)
  [ $status = 0 ] && [ "$warned" = "$([ $model = fit ] && echo 0 || echo 1)" ]
  ok $? "$model particles: units in doubt or not"
done
# a restart: the checkpoint that it would take
again() { launch 0 run --check "$@" run.ini; }
state() { ls -l --full-time -R out; }
says 0 '^out: this run has finished at time 0.0625, after 2 soft steps; nothing to do; a larger' '^-r 2 ' -- \
  again -r -n 2 &&
  ! grep -q complete said
ok $? "-r of a run that has finished: a sentence, and how to go back"
sed -i 's/^state=.*/state=interrupted/' out/status
before=$(state)
says 0 '^checkpoint  *out/checkpoints/checkpoint_000002, complete: 20000 particles on 1 rank, backend cpu$' \
  '^continues  *within soft step 2, which began at time 0.03125$' -- \
  again -r -P Input:InitCondFile=absent.hdf5 && lacks said '^initial conditions'
ok $? "-r: the checkpoint, step, time, ranks; the initial conditions are not needed"
try checked 2 -r && has said 'on 1 rank results are bitwise identical; on 2 as accurate'
ok $? "-r on other ranks: said"
check "-r N, and another TimeMax, which is named" \
  says 0 '^restart: TimeMax = 0.15 now' -- again -r 2 -P Time:TimeMax=0.15
planned=$(sed -n 's/^a snapshot.*; \([0-9]*\) still to be written.*/\1/p' said)
check "-r: what a restart would refuse: another softening" \
  says 1 'Softening = 0.02, but the checkpoint was made with 0.03' -- again -r -P Gravity:Softening=0.02
check "... a step before it" says 1 '-n 1: the checkpoint .* is in soft step 2' -- again -r -n 1
check "... a checkpoint that is not there" says 1 'there is no checkpoint 7 in out/checkpoints' -- again -r 7
check "-r, and a time that is over: a sentence" says 0 'there is nothing left to do' -- again -r -P Time:TimeMax=0.01
cp -r out/checkpoints/checkpoint_000002 out/checkpoints/checkpoint_000003
printf x | dd of=out/checkpoints/checkpoint_000003/rank_00000 bs=1 seek=5000 conv=notrunc 2> /dev/null
check "-r: a damaged one is skipped" \
  says 0 'a damaged checkpoint is skipped: .*checkpoint_000003' 'checkpoint_000002, complete' -- again -r
check "-r N of a damaged one is refused" says 1 'error: no good checkpoint' -- again -r 3
check "-r PATH of a damaged one is refused" says 1 -- again -r out/checkpoints/checkpoint_000003
rm -rf out/checkpoints/checkpoint_000003
says 0 'new tables are begun' -- espalier run --check \
  -P Output:OutputDir=other -r out/checkpoints/checkpoint_000002 run.ini && [ ! -e other ]
ok $? "-r PATH from another folder"
[ "$(state | grep -v '^drw')" = "$(echo "$before" | grep -v '^drw')" ]
ok $? "-r writes nothing"
espalier run -r -P Time:TimeMax=0.15 run.ini > ran 2> err
[ $? = 0 ] && [ "$planned" = "$(grep -c '^snapshot ' ran)" ]
ok $? "the restart writes the $planned snapshots that were still to come"
# --schedule: the first soft step as a table, after the first forces; nothing is written
for ranks in 1 2; do
  try launch $ranks run --schedule -P Output:OutputDir=none run.ini
  [ $? = 0 ] && [ ! -e none ] && has said "^schedule of the first soft step, hybrid: 20000 particles, $ranks rank" &&
    has said '^1/2  *1 .* regular ' && [ "$(grep -c '^tick ' said)" = 1 ] &&
      [ "$(grep -c '^0 .* all  *1' said)" = $((ranks - 1)) ]
  ok $? "--schedule on $ranks ranks"
done
check "--schedule and -r: refused" says 2 'option --schedule' -- espalier run --schedule -r run.ini
mv out before
sed -i 's,^OutputDir.*,OutputDir = /proc/nothing,' run.ini
try checked 1
[ $? = 1 ] && has err "cannot write in /proc\|too little for one snapshot"
ok $? "no room for a snapshot"
finish
