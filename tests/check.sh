#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck disable=SC2059  # bytes
# run --check: the estimates against what a run then takes; exit status 1 where there is no room; nothing is written.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
here=$PWD
. "${srcdir:-.}/tests/tap.sh"
shown="$dir/said $dir/err"
export OMP_NUM_THREADS=1
cd "$dir" || exit 99
cat > run.ini << END
[Input]
InitCondFile = ic.hdf5
[Output]
OutputDir = out
TimeBetSnapshot = 0.03125
[Checkpoints]
CheckpointAtEnd = on
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = 0.0625
[Gravity]
Softening = 0.03
[Split]
Mode = hybrid
SoftStep = 0.03125
[Device]
Backend = cpu
[Steps]
Scheme = block
END
"$here/espalier" ic plummer -n 20000 -o ic.hdf5 > out.log || exit 99
check() {
  ranks=$1
  shift
  # shellcheck disable=SC2086
  ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n "$ranks" "$here/espalier" run --check "$@" run.ini > said 2> err < /dev/null
}
check 2 && grep -q '^placement .*: ranks 0 to 1, 1 thread on .* are free$' said && grep -q '^memory  *about .* per rank, measured in the first soft step' said
ok $? "two ranks: placement and memory"
cp said checked2
check 1
ok $? "one rank"
! grep -q -e 'BoxSize' -e 'Redshift' -e 'HubbleParam' -e 'gas particle' -e '^time in the file' said
ok $? "no word about a file of one's own"
cp said checked
[ ! -e out ]
ok $? "nothing was written"
check 1 -P Steps:Criterion=a -P Split:Mode=auto -P Split:SoftStep=0
grep -q '^  block steps .*  0\.0[0-9]*  *-  *[0-9]' said && grep -q '^energy error .*not predicted for this Criterion' said
ok $? "no prediction of errors for the steps of GADGET"
check 2 -P Device:Transport=nccl
[ $? = 1 ] && grep -q 'Transport = nccl: messages of the backend cpu are in the host' err
ok $? "a transport that the run would refuse"
# Started as the check is: without a launcher MPI may load other libraries.
# shellcheck disable=SC2086
${MPIRUN:-mpirun} $MPIRUN_FLAGS -n 1 "$here/espalier" run -v run.ini > ran 2> err < /dev/null
ok $? "the run"
# the resident set of sanitizers is another one
plain=1
"$here/espalier" --version | grep -q sanitizers && plain=0
# memory CHECKED RAN: at least the largest resident set, at most a quarter more. The pages of program and libraries that the system counts
# differ from process to process, by what it holds in memory: by this difference the bounds are wider.
memory() {
  awk -v plain=$plain '/^memory  *about/ { expected = $3; getline; was = $0; sub(/.*\(/, "", was); was += 0 }
    /^memory: at most/ { found = $0; sub(/.*resident set /, "", found); found += 0; is = $0; sub(/.* with /, "", is); is += 0 }
    END { printf "# memory: expected %g MB (program %g), found %g MB (program %g)\n", expected, was, found, is
      wider = was > is ? was - is : is - was
      exit !(expected > 0 && found > 0 && was > 0 && is > 0 &&
        (!plain || (expected + wider >= found && expected <= 1.25 * (found + wider)))) }' "$@"
}
memory checked ran
ok $? "memory: not less than the largest resident set, and at most a quarter more"
${MPIRUN:-mpirun} $MPIRUN_FLAGS -n 2 "$here/espalier" run -v -P Output:OutputDir=two run.ini > ran2 2> err < /dev/null && memory checked2 ran2
ok $? "... on two ranks"
# shellcheck disable=SC2012
bytes=$(ls -l out/snapshot_000.hdf5 | awk '{ print $5 }') count=$(ls out/snapshot_*.hdf5 | wc -l)
awk -v bytes="$bytes" -v count="$count" '/^a snapshot/ { expected = $3 * ($4 ~ /^kB/ ? 1e3 : $4 ~ /^MB/ ? 1e6 : 1e9); planned = $5 }
  END { printf "# snapshot: expected %g, found %g; %d and %d\n", expected, bytes, planned, count
    exit !(bytes < 1.02 * expected && bytes > 0.9 * expected && planned == count) }' checked
ok $? "snapshots: their size to 10 %, and their number"
bytes=$(du -b -s out/checkpoints/checkpoint_* | awk '{ print $1 }')
awk -v bytes="$bytes" '/^a checkpoint/ { expected = $3 * ($4 ~ /^kB/ ? 1e3 : $4 ~ /^MB/ ? 1e6 : 1e9) }
  END { printf "# checkpoint: expected %g, found %g\n", expected, bytes; exit !(bytes < 1.05 * expected && bytes > 0.9 * expected) }' checked
ok $? "a checkpoint's size to 10 %"
# TIPSY: time 2.5, two gas particles
{
  printf '\000\000\000\000\000\000\004\100\002\000\000\000\003\000\000\000\002\000\000\000\000\000\000\000\000\000\000\000'
  for x in 077 277; do
    printf "\\000\\000\\200\\077\\000\\000\\200\\$x"
    printf '\000\000\000\000%.0s' 1 2 3 4 5 6 7 8 9 10
  done
} > gas.tipsy
set -- -P Input:InitCondFile=gas.tipsy -P Input:ICFormat=tipsy -P Output:OutputDir=gas
check 1 "$@" && grep -q '^time in the file  *2.5, which is not used' said && grep -q '^warning: gas.tipsy has 2 gas particles (type 0): only gravity acts on them' said
ok $? "a file of others: its time, and what is not done"
grep -q '^units  *model units' said
ok $? "a model's own units"
check 1 "$@" -P Units:GravityConstantInternal=0 -P Time:TimeMax=2 -P Gravity:Softening=0.05 &&
  grep -q '^units  *length 1 kpc, mass 1e+10 solar masses, velocity 1 km/s, time 0.9778 Gyr$' said && grep -q '^begins at .* ends at 2 (1.96 Gyr)$' said
ok $? "physical units, and the end in Gyr"
for command in force "run -n 1"; do
  # shellcheck disable=SC2086
  "$here/espalier" $command "$@" run.ini > said 2> err && [ "$(grep -c '^espalier: warning: gas.tipsy has 2 gas particles' err)" = 1 ]
  ok $? "$command: says so too"
done
! grep -q '(default)' checked
ok $? "nothing is a default"
sed -e '/^Softening/d' -e '/^TimeMax/d' run.ini > default.ini
"$here/espalier" run --check "$@" -P Output:OutputDir=default default.ini > said 2> err && grep -q ' softening 0.1 (default), ' said && grep -q 'ends at 1 (default)$' said
ok $? "defaults of softening and end are marked"
"$here/espalier" run -n 0 "$@" -P Output:OutputDir=default default.ini > said 2> err && grep -q '^note: Softening = 0.1 (default)$' said &&
  grep -q '^note: TimeMax = 1 (default)$' said
ok $? "... at the start of a run too"
# output times before the beginning and after the end
printf '%s\n' 0 0.5 1 1.5 2 2.5 3 > times.txt
never="4 of 7 output times in OutputListFilename are outside the run, the first is 0: the run goes from time 1 to 2.25"
set -- "$@" -P Output:OutputDir=times -P Output:TimeBetSnapshot=0 -P Output:OutputListFilename=times.txt -P Time:TimeBegin=1 -P Time:TimeMax=2.25
check 2 "$@" && [ "$(grep -c "^warning: $never" said)" = 1 ]
ok $? "output times outside the run"
"$here/espalier" run -n 0 "$@" run.ini > said 2> err && [ "$(grep -c "^espalier: warning: $never" err)" = 1 ]
ok $? "... at the start of a run too"
check 1 "$@" -P Output:OutputDir=all -P Time:TimeBegin=0 -P Time:TimeMax=3 && ! grep -q 'outside the run' said
ok $? "... all of them come"
# masses too small, too large: positions and velocities do not fit them
printf '0 0 0 0 0 1 %s\n1 0 0 0 1 0 %s\n' 1e-6 1e-6 > fast.txt
printf '0 0 0 0 0 1 %s\n1 0 0 0 1 0 %s\n' 1e6 1e6 > slow.txt
printf '0 0 0 0 0 1 %s\n1 0 0 0 1 0 %s\n' 1 1 > fit.txt
for model in fast slow fit; do
  "$here/espalier" run -n 0 -P Input:InitCondFile=$model.txt -P Input:ICFormat=ascii -P Output:OutputDir=$model run.ini > said 2> err
  status=$? warned=$(grep -c '^espalier: warning: the virial ratio 2 T / |W| is .* are the units of mass, length and velocity right?$' err)
  [ $status = 0 ] && [ "$warned" = "$([ $model = fit ] && echo 0 || echo 1)" ]
  ok $? "$model particles: units in doubt or not"
done
# a restart: the checkpoint that it would take
again() { "$here/espalier" run --check "$@" run.ini > said 2> err < /dev/null; }
state() { ls -l --full-time -R out; }
again -r -n 2 && grep -q '^out: this run has finished at time 0.0625, after 2 soft steps; nothing to do$' said && grep -q '^-r 2 ' said && ! grep -q complete said
ok $? "-r of a run that has finished: a sentence, and how to go back"
sed -i 's/^state=.*/state=interrupted/' out/status
before=$(state)
again -r -P Input:InitCondFile=absent.hdf5 && grep -q '^checkpoint  *out/checkpoints/checkpoint_000002, complete: 20000 particles on 1 rank, backend cpu$' said &&
  grep -q '^continues  *within soft step 2, which began at time 0.03125$' said && ! grep -q '^initial conditions' said
ok $? "-r: the checkpoint, step, time, ranks; the initial conditions are not needed"
check 2 -r && grep -q 'on 1 rank results are bitwise identical; on 2 as accurate' said
ok $? "-r on other ranks: said"
again -r 2 -P Time:TimeMax=0.15 && grep -q '^restart: TimeMax = 0.15 now' said
ok $? "-r N, and another TimeMax, which is named"
planned=$(sed -n 's/^a snapshot.*; \([0-9]*\) still to be written.*/\1/p' said)
again -r -P Gravity:Softening=0.02
[ $? = 1 ] && grep -q 'Softening = 0.02, but the checkpoint was made with 0.03' err
ok $? "-r: what a restart would refuse: another softening"
again -r -n 1
[ $? = 1 ] && grep -q -e '-n 1: the checkpoint .* is in soft step 2' err
ok $? "... a step before it"
again -r 7
[ $? = 1 ] && grep -q 'there is no checkpoint 7 in out/checkpoints' err
ok $? "... a checkpoint that is not there"
again -r -P Time:TimeMax=0.01 && grep -q 'there is nothing left to do' said
ok $? "-r, and a time that is over: a sentence"
cp -r out/checkpoints/checkpoint_000002 out/checkpoints/checkpoint_000003
printf x | dd of=out/checkpoints/checkpoint_000003/rank_00000 bs=1 seek=5000 conv=notrunc 2> /dev/null
again -r && grep -q 'a damaged checkpoint is skipped: .*checkpoint_000003' err && grep -q 'checkpoint_000002, complete' said
ok $? "-r: a damaged one is skipped"
again -r 3
[ $? = 1 ] && grep -q 'error: no good checkpoint' err
ok $? "-r N of a damaged one is refused"
again -r out/checkpoints/checkpoint_000003
[ $? = 1 ]
ok $? "-r PATH of a damaged one is refused"
rm -rf out/checkpoints/checkpoint_000003
"$here/espalier" run --check -P Output:OutputDir=other -r out/checkpoints/checkpoint_000002 run.ini > said 2> err && grep -q 'new tables are begun' said && [ ! -e other ]
ok $? "-r PATH from another folder"
[ "$(state | grep -v '^drw')" = "$(echo "$before" | grep -v '^drw')" ]
ok $? "-r writes nothing"
"$here/espalier" run -r -P Time:TimeMax=0.15 run.ini > ran 2> err
[ $? = 0 ] && [ "$planned" = "$(grep -c '^snapshot ' ran)" ]
ok $? "the restart writes the $planned snapshots that were still to come"
# --schedule: the first soft step as a table, after the first forces; nothing is written
for ranks in 1 2; do
  ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n $ranks "$here/espalier" run --schedule -P Output:OutputDir=none run.ini > said 2> err < /dev/null
  [ $? = 0 ] && [ ! -e none ] && grep -q "^schedule of the first soft step, hybrid: 20000 particles, $ranks rank" said &&
    grep -q '^1/2  *1 .* regular ' said && [ "$(grep -c '^tick ' said)" = 1 ] && [ "$(grep -c '^0 .* all  *1' said)" = $((ranks - 1)) ]
  ok $? "--schedule on $ranks ranks"
done
"$here/espalier" run --schedule -r run.ini > said 2> err
[ $? = 2 ] && grep -q 'option --schedule' err
ok $? "--schedule and -r: refused"
mv out before
sed -i 's,^OutputDir.*,OutputDir = /proc/nothing,' run.ini
check 1
[ $? = 1 ] && grep -q -e 'cannot write in /proc' -e 'too little for one snapshot' err
ok $? "no room for a snapshot"
echo "1..$number"
exit $failed
