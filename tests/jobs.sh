#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier-job with a program that only pretends to run: what it starts, that signals reach it, when the next job is
# submitted, and that a chain without progress ends. The batch scripts: that they parse.
. "${srcdir:-.}/tests/harness.sh"
batch=$src/jobscripts/espalier-job
real=$here/espalier

# The pretended program: 'plan' says what becomes of the run; it notes how it was called. Parameter files are read by
# the real one.
cat > espalier << 'END'
#!/bin/sh
if [ "$1" = params ]; then
  [ ! -e slow ] || { : > asked; sleep 2; }
  exec "$REAL" "$@"
fi
echo "$*" >> calls
out=${OUT:-out}
mkdir -p "$out"
# with what TimeMax, and which checkpoints, the tests say
end() {
  [ -n "$NO_CHECKPOINT" ] || mkdir -p "${CHECKPOINTS:-$out/checkpoints}/$4"
  report "$@"
  echo "time_max=${TIME_MAX:-1}" >> "$out/status"
}
report() { printf 'state=%s\nreason=%s\nstep=%s\ncheckpoint=%s\nupdated=%s\n' "$@" $$ > "$out/status"; }
read -r what step < plan
rm -f "$out/cont"
case $what in
  lack) end finished end "$step" "checkpoint_$step"; echo snapshots_missing=3-5 >> "$out/status"; exit 0 ;;
  finish) end finished end "$step" "checkpoint_$step"; exit 0 ;;
  stop) : > "$out/cont"; end interrupted walltime "$step" "checkpoint_$step"; exit 0 ;;
  bad) end untrusted "TimeMax; the largest |dE/E| is 1.10e+00" "$step" "checkpoint_$step"; exit "${LAUNCHED:-3}" ;;
  close) end untrusted "steps of a close pair collapsed" "$step" "checkpoint_$step"
    echo time=0.25 >> "$out/status"; exit 3 ;;
  asked) end interrupted "file stop" "$step" "checkpoint_$step"; exit 0 ;;
  fail) end failed "not a number" "$step" "checkpoint_$step"; exit 3 ;;
  refuse) exit "${LAUNCHED:-1}" ;;
  watchdog) report failed 'rank 0, step 3, phase walk: no progress for 30 minutes' "$step" \
      "$(ls -d "$out"/checkpoints/checkpoint_*[0-9] 2> /dev/null | sed 's,.*/,,' | tail -n 1)"
    exit "${LAUNCHED:-1}" ;;
  mute) : > "$out/cont"; mkdir -p "$out/checkpoints/checkpoint_$step"; exit 0 ;;
  silent) exit 0 ;;
  lost) report running '' "$step" ''; exit 0 ;;
  killed) report running '' "$step" ''; exit 137 ;;
  wait) trap ': > "$out/cont"; end interrupted SIGUSR1 "$step" "checkpoint_$step"; exit 0' USR1
    : > waiting
    i=0; while [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done; exit 4 ;;
esac
END
chmod +x espalier
# As mpirun does: passes SIGUSR1 on and goes on waiting.
cat > launcher << 'END'
#!/bin/sh
echo "$1" > launched
shift
"$@" & child=$!
trap 'kill -s USR1 $child' USR1
while :; do wait $child; result=$?; kill -0 $child 2> /dev/null || exit $result; done
END
chmod +x launcher
printf '[Output]\nOutputDir   =  out ; where it goes\n' > run.ini
# what the pretended program goes by, whatever the environment holds
unset OUT CHECKPOINTS NO_CHECKPOINT TIME_MAX LAUNCHED
export ESPALIER="$dir/espalier" REAL="$real"

# try STATUS FRAGMENT TITLE ARGUMENT...: one call
try() {
  expected=$1 fragment=$2 title=$3
  shift 3
  timeout 60 "$batch" "$@" > out.log 2> err.log < /dev/null
  result=$?
  cat out.log > out.txt; cat err.log >> out.txt
  shown=out.txt
  [ $result = "$expected" ] && has out.txt "$fragment"
  ok $? "$title: status $result"
}
called() { tail -n 1 calls | grep -qx -e "$1"; ok $? "called as: $1"; }

try 0 '^usage: espalier-job' "help" --help
try 2 'launcher is missing' "no launcher" run.ini
try 2 "option --stalls: expected a number above 0, found '0'" "bad number" --stalls 0 run.ini ./launcher 1
try 2 'unknown option --agian' "unknown option" --agian x run.ini ./launcher 1
try 1 'absent.ini: no such parameter file' "absent file" absent.ini ./launcher 1
[ ! -e calls ]; ok $? "nothing was started so far"

echo stop 5 > plan
try 0 'the next job is submitted: echo again' "first job" -a 'echo again > submitted' -w 1-02:03:04 run.ini ./launcher \
  word
called 'run --walltime 1-02:03:04 run.ini'
[ "$(cat launched)" = word ] && [ "$(cat submitted)" = again ] && [ "$(cat out/chain)" = "the start" ]
ok $? "launcher, next job and ledger"
echo stop 9 > plan
try 0 'interrupted; the next job continues from checkpoint_9' "second job, none asked for after it" -w UNLIMITED -o \
  --overwrite run.ini ./launcher 1
called 'run --restart last run.ini'
echo asked 12 > plan
rm -f submitted
try 0 'on purpose (file stop)' "stopped by hand" -a 'echo again > submitted' run.ini ./launcher 1
[ ! -e submitted ]; ok $? "no job follows that"

echo wait 15 > plan
# signalled SIGNAL: a job gets a signal to stop while its run is under way; $result
signalled() {
  rm -f waiting submitted
  "$batch" -a 'echo again > submitted' run.ini ./launcher 1 > out.txt 2>&1 < /dev/null &
  pid=$!
  i=0; while [ ! -e waiting ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i + 1)); done
  kill -s "$1" $pid
  wait $pid
  result=$?
  [ $result = 0 ] && has out.txt 'told to stop' && [ -e submitted ]
}
signalled USR1 && grep -q -x checkpoint=checkpoint_15 out/status
ok $? "SIGUSR1: the run stops and the next job is submitted: status $result"
check "SIGTERM: the same: status $result" signalled TERM

# a signal before the run has begun
cp out/chain chain.kept
rm -f submitted calls
: > slow
"$batch" --stalls 9 -a 'echo again > submitted' run.ini ./launcher 1 > out.txt 2>&1 < /dev/null &
pid=$!
i=0; while [ ! -e asked ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i + 1)); done
kill -s USR1 $pid
wait $pid
[ $? = 0 ] && has out.txt 'told to stop before the run began' && [ -e submitted ] && [ ! -e calls ]
ok $? "SIGUSR1 before the run has begun: it does not begin, and the next job is submitted"
rm slow
mv chain.kept out/chain

# the last job began at checkpoint 15 and did not get on; so does this one
rm -f submitted calls
echo stop 15 > plan
try 1 'the last 2 jobs began at checkpoint_15 and none got beyond it' "no progress" -a 'echo again > submitted' \
  run.ini ./launcher 1
[ -e calls ] && [ ! -e submitted ]; ok $? "the second job at one place was the last"
rm -f calls
try 1 'remove out/chain' "a third is not started" run.ini ./launcher 1
[ ! -e calls ]; ok $? "nothing was started"
try 0 'interrupted' "three are allowed where that is asked for" --stalls 3 run.ini ./launcher 1
echo 'substeps.paused = 268435456' > out/checkpoints/checkpoint_15/manifest
try 0 'continues from checkpoint_15 at tick 268435456' "a checkpoint at a later tick of a long soft step is progress" \
  run.ini ./launcher 1
echo 'substeps.paused = 0' > out/checkpoints/checkpoint_15/manifest
rm out/chain
echo fail 16 > plan
try 3 'exit status 3, state failed' "a run that fails" -a 'echo again > submitted' run.ini ./launcher 1
[ ! -e submitted ]; ok $? "no job follows that"
echo finish 20 > plan
try 0 'exit status 0, state finished, step 20' "the end" -a 'echo again > submitted' run.ini ./launcher 1
[ ! -e submitted ]; ok $? "no job follows that"
rm -f calls
try 0 'the run has finished' "a job too many" run.ini ./launcher 1
[ ! -e calls ]; ok $? "starts nothing"
rm out/status
echo lack 20 > plan
try 1 'snapshots could not be written and are missing: 3-5' "a run that lacks snapshots" run.ini ./launcher 1
rm -f calls
try 1 'snapshots could not be written and are missing: 3-5' "... and a job too many after that" run.ini ./launcher 1
[ ! -e calls ]; ok $? "starts nothing"


# finished, with a large energy error
for launched in 3 0; do
  rm -f submitted calls
  rm -rf bad
  printf '[Output]\nOutputDir = bad\n' > bad.ini
  echo bad 20 > plan
  OUT=bad LAUNCHED=$launched try 3 \
    'bad: the run has ended, but cannot be trusted (TimeMax; the largest |dE/E| is 1.10e+00): no further job' \
    "a run that cannot be trusted, launcher's exit status $launched" -a 'echo again > submitted' bad.ini ./launcher 1
  [ ! -e submitted ]; ok $? "no job follows that"
done
rm -f calls
try 3 'cannot be trusted' "a job too many" bad.ini ./launcher 1
[ ! -e calls ]; ok $? "starts nothing"
# a run that ended before its end because steps collapsed: the program decides whether it goes on
rm -rf bad submitted
echo close 7 > plan
OUT=bad try 3 'bad: the run has ended, but cannot be trusted (steps of a close pair collapsed): no further job' \
  "collapsed steps" \
  -a 'echo again > submitted' bad.ini ./launcher 1
echo refuse > plan
OUT=bad try 1 'exit status 1, state untrusted' "the same parameters again" -a 'echo again > submitted' bad.ini \
  ./launcher 1
called 'run --restart last bad.ini'
OUT=bad LAUNCHED=0 try 1 'its status file is not new' "with a launcher that ends with 0" -a 'echo again > submitted' \
  bad.ini ./launcher 1
[ ! -e submitted ]; ok $? "no job follows"
echo finish 30 > plan
OUT=bad try 0 'exit status 0, state finished' "other parameters" --stalls 4 bad.ini ./launcher 1

# beyond the end
printf '[Time]\nTimeMax = 2.0e0 ; longer\n' >> run.ini
echo finish 30 > plan
TIME_MAX=2 try 0 'exit status 0' "a larger TimeMax" run.ini ./launcher 1
called 'run --restart last run.ini'
rm -f calls
try 0 'the run has finished' "... and that end" run.ini ./launcher 1
[ ! -e calls ]; ok $? "starts nothing"
mv out/checkpoints kept
try 1 'has no checkpoint to continue from' "a larger TimeMax, no checkpoint" -o --overwrite -o \
  -P -o Time:TimeMax=3 run.ini ./launcher 1
[ ! -e calls ]; ok $? "starts nothing"

# what a status file says that a start was refused by, or that could not be written, leads to no other start
rm -rf out kept
echo stop 5 > plan
try 0 'interrupted' "a new chain" -o --overwrite run.ini ./launcher 1
echo refuse > plan
try 1 'exit status 1, state interrupted' "a job whose restart is refused" -a 'echo again > submitted' -o --overwrite \
  run.ini ./launcher 1
LAUNCHED=0 try 1 'did not end well: its status file is not new' "the same, and the launcher says nothing of it" \
  --stalls 3 -a 'echo again > submitted' \
  -o --overwrite run.ini ./launcher 1
[ ! -e submitted ]; ok $? "no job follows that"
echo stop 9 > plan
try 0 'checkpoint checkpoint_9' "the one behind it" --stalls 4 -o --overwrite run.ini ./launcher 1
called 'run --restart last run.ini'
rm -rf out far
printf '[Checkpoints]\nCheckpointDir = far ; away\n' >> run.ini
echo stop 1000000 > plan
CHECKPOINTS=far try 0 'interrupted' "checkpoints elsewhere" run.ini ./launcher 1
mkdir far/checkpoint_999999 far/checkpoint_2000000.tmp far/checkpoint_3000000.unused
CHECKPOINTS=far try 0 'began at\|continues from checkpoint_1000000' "the newest of them" run.ini ./launcher 1
called 'run --restart last run.ini'
rm -rf far
try 0 "" "checkpoints that are gone" run.ini ./launcher 1
[ "$(tail -n 1 calls)" = 'run run.ini' ]; ok $? "are no reason to start over"

# failed: what the watchdog, or a rank that dies, has left in the status file
rm -rf out far calls submitted
sed -i '/Checkpoint/d' run.ini
echo stop 5 > plan
try 0 'the next job is submitted' "a new chain" -a 'echo again > submitted' run.ini ./launcher 1
rm -f submitted
echo watchdog 7 > plan
try 1 'exit status 1, state failed, step 7, checkpoint checkpoint_5' "a job that the watchdog ends" -a \
  'echo again > submitted' run.ini ./launcher 1
[ ! -e submitted ]; ok $? "no job follows that"
LAUNCHED=0 try 1 'did not end well: failed: rank 0, step 3, phase walk: no progress' \
  "the same, and the launcher says nothing of it" \
  -a 'echo again > submitted' run.ini ./launcher 1
[ ! -e submitted ]; ok $? "no job follows that"
rm -f calls
try 1 'the last 2 jobs began at checkpoint_5 and none got beyond it' \
  "submitted again by hand: two such jobs are enough" run.ini ./launcher 1
[ ! -e calls ]; ok $? "nothing was started"
rm out/chain
echo lost 7 > plan
try 1 'did not end well: running' "a launcher that ends with 0 while the run says that it runs" -a \
  'echo again > submitted' run.ini ./launcher 1
[ ! -e submitted ]; ok $? "no job follows that"
echo watchdog 2 > plan
rm -rf out
try 1 'state failed' "failed before the first checkpoint" run.ini ./launcher 1
echo stop 9 > plan
try 0 'was ended before its first checkpoint and is started over' "the job behind it" run.ini ./launcher 1
called 'run --overwrite run.ini'

# a status file that could not be written, or is old: what counts is cont, which this run made
rm -rf out
mkdir out
for before in none running interrupted; do
  case $before in none) rm -f out/status ;; *) printf 'state=%s\nreason=walltime\nstep=1\n' $before > out/status ;; esac
  rm -f submitted out/chain
  echo mute 4 > plan
  try 0 'the next job is submitted' "cont, and no status (before: $before)" -a 'echo again > submitted' run.ini \
    ./launcher 1
  [ -e submitted ]; ok $? "the next job follows"
  rm -f submitted out/chain
  echo silent > plan
  try 1 'did not end well' "neither cont nor status (before: $before)" -a 'echo again > submitted' run.ini ./launcher 1
  [ ! -e submitted ]; ok $? "no job follows that, though cont was there before"
done

# OutputDir is where the program finds it: '#' and ';' begin comments behind a blank alone, ':' is as good as '=', -P
# counts
echo finish 1 > plan
# found FOLDER LINE ARGUMENT...: the job's folder, where the parameter file has such a line
found() {
  place=$1 line=$2
  shift 2
  printf '[Output]\n%s\n' "$line" > dirs.ini
  OUT=./$place try 0 'state finished' "'$line' $*" "$@" dirs.ini ./launcher 1
  check "... is the folder $place" test -e "$place/chain"
}
found 'run#3' 'OutputDir = run#3'
found 'run;4' '  OutputDir=run;4 ;5'
found colon 'OutputDir : colon # where it goes'
found 'two words' 'OutputDir =  two words  '
found here 'OutputDir = there' -o -P -o Output:OutputDir=here
found here2 'OutputDir = there' -o -POutput:OutputDir=elsewhere -o -P -o Output:OutputDir=here2
found 'st*r' 'OutputDir = there' -o -P -o 'Output:OutputDir=st*r'
: > Output:OutputDir=sthindr
found 'st*rs' 'OutputDir = there' -o -P -o 'Output:OutputDir=st*rs'
called 'run -P Output:OutputDir=st\*rs dirs.ini'
[ ! -e there ] && [ ! -e elsewhere ]; ok $? "nothing elsewhere"

# names that a shell or a command could take for something else
found -dash 'OutputDir = -dash'
found "it's" "OutputDir = it's"
# shellcheck disable=SC2006  # names
for name in 'a$(touch${IFS}X)' 'a`touch${IFS}X`' 'a "two"' 'a;touch X' 'a&touch X' 'back\slash' '-n' 'a ~'; do
  found "$name" 'OutputDir = there' -d "$name"
done
found 'b;touch X' 'OutputDir = b;touch X'
[ ! -e X ]; ok $? "no command in a name was carried out"
rm -rf ./-dash ./-far
echo stop 5 > plan
printf '[Output]\nOutputDir = -dash\n[Checkpoints]\nCheckpointDir = -far\n' > ./-e.ini
CHECKPOINTS=./-far OUT=./-dash try 0 'the next job continues from checkpoint_5' \
  "a parameter file, a folder of checkpoints that begin with a dash" -- -e.ini ./launcher 1
called 'run ./-e.ini'
CHECKPOINTS=./-far OUT=./-dash try 0 'state interrupted' "... and the next job" -d -dash -- -e.ini ./launcher 1
called 'run --restart last ./-e.ini'
mkdir 'a place'
cp "$batch" 'a place'
OUT=./-dash timeout 60 "a place/espalier-job" -d -dash run.ini ./launcher 1 > out.txt 2>&1 < /dev/null
ok $? "espalier-job in a folder whose name has a space"
# the program: ESPALIER, else that in PATH, else that beside the script, else that of the folder build
mkdir -p tree/jobscripts tree/build path
cp "$batch" tree/jobscripts
# programs DIRECTORY...: espalier is in these alone, and says which one was started
programs() {
  rm -f tree/jobscripts/espalier tree/build/espalier path/espalier
  for place; do
    printf '#!/bin/sh\n[ "$1" = params ] || echo %s > started\nexec "%s/espalier" "$@"\n' "$place" "$dir" > \
      "$place/espalier"
    chmod +x "$place/espalier"
  done
}
# starts WHICH TITLE PATH: the job of the tree starts that one
starts() {
  rm -f started
  rm -rf out
  echo finish 1 > plan
  (unset ESPALIER; TIME_MAX=2 PATH=$3 timeout 60 tree/jobscripts/espalier-job -d out run.ini ./launcher 1) > out.txt \
    2>&1 < /dev/null
  [ $? = 0 ] && [ "$(cat started)" = "$1" ]
  ok $? "$2"
}
# a folder of all programs in PATH but any espalier that is installed
bare=$(echo "$PATH" | tr : '\n' | while read -r folder; do [ -e "$folder/espalier" ] || printf '%s:' "$folder"; done)
bare=${bare%:}
programs path tree/jobscripts tree/build
starts path "the program in PATH comes first" "path:$bare"
starts tree/jobscripts "... then the one beside espalier-job" "$bare"
programs tree/build
starts tree/build "... then build/espalier of the sources" "$bare"
programs path
rm -f started
echo finish 1 > plan
(rm -rf out; TIME_MAX=2 PATH=$dir/path:$bare timeout 60 tree/jobscripts/espalier-job -d out run.ini ./launcher 1) > \
  out.txt 2>&1 < /dev/null
[ $? = 0 ] && [ ! -e started ]
ok $? "ESPALIER comes before all of them"
programs
(unset ESPALIER; PATH=$bare timeout 60 tree/jobscripts/espalier-job run.ini ./launcher 1) > out.txt 2>&1 < /dev/null
[ $? = 1 ] &&
  has out.txt 'not found: ESPALIER is not set, PATH has no espalier, and neither tree/jobscripts/espalier nor tree/' &&
  has out.txt 'espalier nor tree/jobscripts/../build/espalier'
ok $? "no program: the error names all places"
rm -rf out
ESPALIER=$dir/nodes try 1 'no such program can be started' "a program that is not there" run.ini ./launcher 1
try 2 "option -w: one word was expected, found '1 --overwrite'" "a walltime of two words" -w '1 --overwrite' run.ini \
  ./launcher 1
rm -f calls
mkdir -p ledger/chain
OUT=ledger try 1 'ledger/chain cannot be written: the run is not started' "a ledger that cannot be written" -d ledger \
  run.ini ./launcher 1
[ ! -e calls ]; ok $? "starts nothing"
rm -f calls
printf '[Output]\nOutputdir = x\n' > dirs.ini
try 1 "unknown parameter 'Outputdir'" "a parameter file that the program refuses" dirs.ini ./launcher 1
[ ! -e calls ] && [ ! -e output ]; ok $? "starts nothing"

# killed before the first checkpoint
rm -rf out
echo killed 3 > plan
try 137 'state running' "a job that is killed" run.ini ./launcher 1
called 'run run.ini'
echo stop 9 > plan
try 0 'was ended before its first checkpoint and is started over' "the one behind it" run.ini ./launcher 1
called 'run --overwrite run.ini'
rm -rf out
mkdir -p out
: > out/energy.csv
echo killed 3 > plan
try 137 '' "over results of another run" run.ini ./launcher 1
called 'run run.ini'
try 137 '' "and again" run.ini ./launcher 1
called 'run run.ini'

# the manual page names every option that --help does
missing=$("$batch" --help | grep -o -E -e '--[a-z]+' | sort -u | while read -r option; do
  grep -q -e "$(echo "$option" | sed 's/-/\\\\-/g')" "$src/doc/espalier-job.1" || echo "$option"
done)
# 'run --restart' is espalier's
check "the manual page has all options${missing:+ but $missing}" test -z "$missing"

# the batch scripts, where commands of the batch system only pretend: the parameter file's name reaches espalier-job as
# it is
mkdir batch
printf '#!/bin/sh\n' > batch/espalier
printf '#!/bin/sh\necho "    Resource_List.walltime = 01:00:00"\n' > batch/qstat
printf '#!/bin/sh\nprintf "%%s\\n" "$@"\n' > batch/espalier-job
cp batch/espalier batch/module
chmod +x batch/*
printf 'node\nnode\n' > nodes
name='a "b" $(touch X); c.ini'
for script in "$src"/jobscripts/*.sh; do
  env PATH="batch:$PATH" SLURM_CPUS_PER_TASK=2 SLURM_NTASKS_PER_NODE=2 SLURM_JOB_ID=7 PBS_O_WORKDIR="$dir" \
    PBS_NODEFILE=nodes PBS_JOBID=7 \
    NQSV_MPI_VER=4 PJM_O_WORKDIR="$dir" PJM_O_NODEINF=nodes PJM_MPI_PROC=2 parameters="$name" bash "$script" "$name" > \
    out.txt 2> err.log < /dev/null &&
    grep -q -x -F -e "$name" out.txt && grep -qx -e 'mpi[a-z]*' out.txt && [ ! -e X ]
  ok $? "$(basename "$script"): a parameter file of any name"
  name=$(basename "$script")
  bash -n "$script" 2> err.log && has "$script" 'exec espalier-job' && grep -q CHANGE "$script"
  ok $? "$name parses, and uses espalier-job"
done
finish
