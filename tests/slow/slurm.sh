#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The shipped scripts on a real Slurm with two pretended nodes (tests/slurm/cluster): a run that is longer than its job
# gets SIGUSR1 before the limit, writes a checkpoint, is queued again and goes on to its end, bit for bit as an
# uninterrupted run; a scaling study as an array of jobs.
. "${srcdir:-.}/tests/slow/common.sh"
why=$("$src/tests/slurm/cluster" check) || skip_all "$why"
plan 9
scratch slurm
dir=$scratch_dir
trap '"$src/tests/slurm/cluster" "$dir/cluster" stop' EXIT
here=$PWD
# Both nodes have one name and one memory, which confuses Open MPI's shared-memory transport; sockets do without.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo
export SOURCE_DATE_EPOCH=1700000000 OMP_NUM_THREADS=1
export ESPALIER="$here/espalier" PATH="$src/jobscripts:$here:$PATH"
unset SLURM_JOB_ID SLURM_JOBID
SLURM_CONF=$("$src/tests/slurm/cluster" "$dir/cluster" start 2> "$dir/cluster.err") && export SLURM_CONF
result $? "two nodes are idle"
[ -n "$SLURM_CONF" ] || { sed 's/^/# /' "$dir/cluster.err"; give_up; }
cd "$dir" || exit 99

# wait_for JOB SECONDS: until it has left the queue; one that waits to be begun again after a requeue may begin soon,
# but not within the same second: nodes refuse a job whose credential is as old as the one that was revoked.
wait_for() {
  waited=0 absent=0 waiting=0   # a busy controller may fail to answer now and then
  while [ $waited -lt "$2" ]; do
    state=$(squeue -h -a -j "$1" -o '%T %r' 2> /dev/null)
    if [ -n "$state" ]; then absent=0; else absent=$((absent + 1)); fi
    [ $absent -lt 5 ] || return 0
    case $state in *BeginTime*) waiting=$((waiting + 1)) ;; *) waiting=0 ;; esac
    [ $waiting -lt 4 ] || scontrol update "JobId=$1" StartTime=now 2> /dev/null
    sleep 1
    waited=$((waited + 1))
  done
  echo "# job $1 is still there after $2 s: $state"
  scancel "$1"
  return 1
}

# How many steps 30 s are, here and now: the job below gets its signal after 10 to 20 s of a limit of a minute. Where
# the machine has become faster since, it gets one all the same when a third of the steps are made.
cat > run.ini << END
[Input]
InitCondFile = ic.hdf5
[Output]
OutputDir = chain
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = 100
[Gravity]
Softening = 0.03
[Split]
Mode = hybrid
SoftStep = 0.0078125
[Device]
Backend = cpu
[Steps]
Scheme = block
END
mpirun="mpirun --oversubscribe -n 2"
espalier ic plummer -n 4000 -s 3 -o ic.hdf5 > ic.log 2>&1
$mpirun espalier run -P Output:OutputDir=trial --no-output -n 40 run.ini > trial.log 2>&1 < /dev/null
steps=$(awk -F, '/^#/ { next } $1 == "step" { for (i = 1; i <= NF; i++) if ($i == "seconds") at = i; next }
  $1 > 10 { s += $at; n++ }
  END { if (s > 0) printf "%d", 30 * n / s }' trial/steps.csv)
[ "${steps:-0}" -gt 20 ]
result $? "a trial run: $steps steps are 30 s"
[ "${steps:-0}" -gt 20 ] || { tail -n 5 trial.log | sed 's/^/# /'; give_up; }
end=$(awk "BEGIN { printf \"%.17g\", $steps * 0.0078125 }")
every=$(awk "BEGIN { printf \"%.17g\", int($steps / 4) * 0.0078125 }")
sed -i "s/^TimeMax.*/TimeMax = $end/; s/^OutputDir.*/OutputDir = chain\nTimeBetSnapshot = $every/" run.ini

job=$(sbatch --parsable --job-name=chain --nodes=2 --ntasks-per-node=1 --gpus-per-node=1 --cpus-per-task=1 --time=1 \
  --signal=B:USR1@50 "$src/jobscripts/slurm.sh" run.ini)
(while ! grep -q -x -e 'state=finished' -e 'state=interrupted' chain/status 2> /dev/null; do
  rows=$(grep -c '^[0-9]' chain/steps.csv 2> /dev/null)
  [ "${rows:-0}" -lt $((steps / 3)) ] || { scancel --batch --signal=USR1 "$job"; break; }
  sleep 0.2
done) &
wait_for "$job" 600
left=$?
wait $!
result $left "the job leaves the queue"
log=$dir/chain-$job.log
grep -q -x 'state=finished' chain/status && grep -q 'exit status 0, state finished' "$log"
result $? "the run has finished"
# A signal that comes while the run ends has no restart.
signals=$(grep -c 'told to stop: the run is to write a checkpoint' "$log")
restarts=$(grep -c 'run --restart last' "$log")
[ "$restarts" -ge 1 ] && [ "$restarts" -le "$signals" ] && [ "$restarts" -ge $((signals - 1)) ] &&
  [ "$(wc -l < chain/chain)" -eq $((restarts + 1)) ]
result $? "$restarts restarts from checkpoints after $signals signals before the limit"
[ $tap_failed = 0 ] || tail -n 20 "$log" | sed 's/^/# | /'

$mpirun espalier run -P Output:OutputDir=straight run.ini > straight.log 2>&1 < /dev/null
result $? "the same run without interruption"
same=0 count=0
for one in straight/snapshot_*.hdf5; do
  count=$((count + 1))
  if ! h5same=$(/usr/bin/python3 "$src/tests/judge.py" same "$one" "chain/${one#*/}" 2>&1); then
    same=1; echo "# $h5same"
  fi
done
[ $same = 0 ] && [ "$count" -ge 4 ] && cmp straight/energy.csv chain/energy.csv
result $? "$count snapshots and the energies have the same bits"

"$src/jobscripts/scaling" make study --program "$here/espalier" --system slurm --ranks 1,2 --weak 500 --steps 4 \
  --time 5 run.ini > study.log 2>&1 &&
  "$src/jobscripts/scaling" submit study >> study.log 2>&1
result $? "a scaling study is submitted"
for job in $(sed -n 's/^Submitted batch job //p' study.log); do wait_for "$job" 200; done
"$src/jobscripts/scaling" collect study >> study.log 2>&1 && [ "$(grep -c '^weak,' study/scaling.csv)" = 6 ] &&
  ! grep -q missing study.log
result $? "an array of jobs made its six runs, and the table"
[ $tap_failed = 0 ] || tail -n 10 study.log study/jobs/*.log | sed 's/^/# | /'
cd "$here" || exit 99
"$src/tests/slurm/cluster" "$dir/cluster" stop
trap - EXIT
finish
