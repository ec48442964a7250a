#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier plan: memory and disk against real runs, steps against run --check, laws, the job script, bad input.
. "${srcdir:-.}/tests/harness.sh"
n=50000
model plummer -n $n -s 1 -o plummer.hdf5
parameters plummer.ini Input:InitCondFile=plummer.hdf5 Gravity:Softening=0.01 Time:TimeMax=0.05 Device:Backend=cpu \
  Split:Mode=tree Steps:Scheme=shared Checkpoints:CheckpointAtEnd=on Output:OutputDir=out
plan() { try espalier plan "$@"; }
# bytes NAME COLUMN: a number with its unit in the line that begins with NAME
bytes() {
  awk -v name="$1" -v column="$2" 'index($0, name) == 1 { line = $0; sub(name " *", "", line); split(line, w, " ")
    unit = substr(w[column + 1], 1, 2)
    print w[column] * (unit == "kB" ? 1e3 : unit == "MB" ? 1e6 : unit == "GB" ? 1e9 : 1e12) }' "$3"
}
# near A B PART: they differ by less than this part
near() { holds "$1 > 0 && ($1 - $2) ^ 2 < ($3 * $2) ^ 2"; }
# row STEPS COLUMN FILE: of the table of schemes
row() { awk -v steps="$1" -v column="$2" '$1 == steps && NF > 6 { print $column }' "$3"; }

# the same number of particles, from the file: a real run
plan --machine "$src/params/machines/cpu-node.ini" plummer.ini && mv said same
ok $? "a plan of a parameter file"
try espalier run -v plummer.ini && mv said ran
ok $? "its run"
found=$(sed -n 's/^memory: at most.*(resident set \([0-9.]*\) MB.*/\1e6/p' ran)
planned=$(bytes 'memory of a rank' 1 same)
check "memory: $planned planned, $found in the run" near "$planned" "$found" 0.05
near "$(bytes 'a snapshot' 1 same)" "$(stat -c %s out/snapshot_001.hdf5)" 0.02 &&
  near "$(bytes 'a checkpoint' 1 same)" "$(du -sb out/checkpoints/checkpoint_* | awk '{ print $1 }' | tail -1)" 0.02
ok $? "sizes of files"
steps=$(sed -n 's/^done: time .* after \([0-9]*\) soft steps.*/\1/p' ran)
check "soft steps: $(row shared 3 same) planned, $steps in the run" test "$(row shared 3 same)" = "$steps"
check "nothing is extrapolated" has same '^laws  *none'
try espalier run --check --overwrite plummer.ini
check "memory as in run --check" near "$planned" "$(bytes memory 2 said)" 0.15

# from a pilot with a quarter of the particles, by laws
plan --machine cpu-node --pilot 10k plummer.ini && mv said fewer
ok $? "a plan from pilots"
check "laws are named" has fewer '^laws  *soft steps and block levels'
check "the soft step of the rule" near "$(row shared 2 fewer)" "$(row shared 2 same)" 0.03
check "the time of a soft step" near "$(row shared 5 fewer)" "$(row shared 5 same)" 0.2
check "memory does not depend on pilots" near "$(bytes 'memory of a rank' 1 fewer)" "$planned" 0.02

# a model without a file, on a GPU
plan -n 2^26 --pilot 1024 --model plummer --until 2 --ranks 4 --machine h100 --job job.sh && mv said model &&
  has model '^plan  *67108864 particles of plummer on 4 ranks' && has model 'of H100 node$' &&
  has model '^run .* node hours by ' && has model '^a snapshot  *4.3 GB; 2 of them' && has model 'trees: (N/P)'
ok $? "a plan of a model"
check "device memory" near "$(bytes 'device memory' 1 model)" "$(awk 'BEGIN { print 2 ^ 24 * 400 }')" 1.3
has job.sh '^#SBATCH --nodes=2$' && has job.sh '^#SBATCH --ntasks-per-node=2$' &&
  has job.sh '^#SBATCH --gpus-per-node=2$' &&
  has job.sh '^#SBATCH --time=[0-9][0-9]*:[0-9][0-9]:00$' && has job.sh 'mpirun -n 4' && bash -n job.sh
ok $? "a job script"
plan -n 1e9 --model king,w0=7 --until 2 && has said '^seconds  *not predicted: no --machine' &&
  has said '^a checkpoint  *110 GB'
ok $? "memory and disk without a machine"
plan -n 2G --pilot 1000 --model plummer --until 2 --machine h100 && has said 'TOO LITTLE'
ok $? "a device that is too small"
plan -n 1e6 --pilot 1000 --model "$src/params/models/globular.ini" --until 10Myr && has said '(10 Myr)'
ok $? "a model file, and a time with a unit"
plan --pilot 1000 --model "$src/params/models/m31.ini" --until 10Myr && has said '^plan  *1048576 particles of'
ok $? "... as many particles as it states"
plan -n 4096 --pilot 4096 -P Split:EnergyError=1e-5 --machine cpu-node --model plummer --until 2 &&
  has said 'not predicted: steps from neighbour lists'
ok $? "steps that are not predicted"

# the same by run --check, from the parameter file; memory of the process and seconds are measured each time
unmeasured() { sed -E 's/[0-9][0-9.e+-]*/N/g; s/ +/ /g' "$1"; }
plan -n 20k --pilot 2^16 --machine cpu-node plummer.ini && grep -v '^ *$' said > planned
try espalier run --check --particles 20k --machine cpu-node plummer.ini && grep -v '^ *$' said > checked
[ "$status" = 0 ] && [ "$(unmeasured planned)" = "$(unmeasured checked)" ] &&
  has planned '^run  *.* node hours' && has planned '^disk ' &&
  has planned '^plan  *20000 particles of plummer.hdf5' && has checked '^plan  *20000 particles of plummer.hdf5'
ok $? "run --check --particles: what espalier plan says"
espalier plan -n 2^16 --model plummer --pilot 4096 --ranks 8 --ranks-per-node 8 --machine h100 \
  --until 0.01 > said 2> err &&
  has said '^ *1 node of'
ok $? "eight ranks of one node"
check "... without a machine: how to get one" says 0 'no --machine is given (mpirun -n 2 espalier study machine' \
  '^disk ' -- espalier run --check --particles 20k plummer.ini
check "... only with --check" says 2 'option --particles: only with --check' -- espalier run --particles 9 plummer.ini
check "... a number" says 2 "option --particles: expected a whole number .*'x'" -- \
  espalier run --check --particles x a.ini

# a job script has the options of the plan, and any names
cp plummer.ini "it's {a} run.ini"
plan -P Output:OutputDir='an out' -P 'Time:TimeMax=0.02' --until 0.01 --pilot 1024 --machine cpu-node \
  --job "a job.sh" "it's {a} run.ini"
ok $? "a plan with options"
mkdir bin && printf '#!/bin/sh\nfor word; do echo "$word"; done > words\n' > bin/espalier-job &&
  chmod +x bin/espalier-job
(PATH=$PWD/bin:$PATH SLURM_CPUS_PER_TASK=1 SLURM_NTASKS_PER_NODE=1 SLURM_JOB_ID=7 bash "./a job.sh")
printf '%s\n' --again 'scontrol requeue 7' --option -P --option 'Output:OutputDir=an out' --directory 'an out' \
  --option -P --option Time:TimeMax=0.02 --option -P --option Time:TimeMax=0.01 "it's {a} run.ini" mpirun > wanted
head -n 18 words | cmp -s - wanted
ok $? "its job has them"
plan --pilot 1024 --machine cpu-node --job absent/job.sh plummer.ini
[ $status = 1 ] && has err 'absent/job.sh: cannot be written: No such file' && [ ! -s said ]
ok $? "a job script that cannot be written is refused before anything is measured"

# bad STATUS FRAGMENT ARGUMENT...
bad() {
  wanted=$1 fragment=$2
  shift 2
  says "$wanted" "$fragment" -- espalier plan "$@"
  ok $? "$* ends with $wanted, $fragment"
}
bad 2 'a parameter file or --model is missing'
bad 2 'option -n is missing' --model plummer --until 1
bad 2 'option --until is missing' --model plummer -n 1000
for wrong in 0 1.5 2^41 3Q; do bad 2 'option -n: expected a whole number' -n "$wrong" plummer.ini; done
bad 2 'option --ranks: expected a whole number from 1' --ranks 0 plummer.ini
bad 2 "expected one parameter file, found 'b.ini' too" a.ini b.ini
bad 1 '--model plumer: expected plummer, hernquist' -n 1000 --model plumer --until 1
bad 1 'absent.ini' -n 1000 --model absent.ini --until 1
bad 1 'h200-node' --machine nowhere plummer.ini
bad 1 'TimeMax' --until 1parsec plummer.ini
bad 1 'G = ' -n 1000 --model plummer -P Units:GravityConstantInternal=2 plummer.ini
bad 1 'needs --machine' --job new.sh plummer.ini
bad 1 'job.sh: already exists' --job job.sh --machine h100 plummer.ini
bad 1 'are too few for a plan' -n 100 plummer.ini
finish
