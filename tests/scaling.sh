#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A scaling study on this machine: folders and jobs, runs, the table, the plot; what is missing is named and made up
# for; bad input meets a sentence. The jobs of the batch systems: every word of their templates is filled in.
. "${srcdir:-.}/tests/harness.sh"
scaling=$src/jobscripts/scaling
command -v python3 > /dev/null 2>&1 || skip_all "no python3"
parameters run.ini Input:InitCondFile= Output:OutputDir=elsewhere Output:TimeBetSnapshot=0.01 Time:TimeMax=4 \
  Time:MaxSizeTimestep=0.03125 Gravity:Softening=0.03 Split:Mode=tree Steps:Scheme=block
make() { try "$scaling" make --program "$here/espalier" "$@"; }

make study --system local --ranks 1,2,4 --strong 400 --weak 150 --steps 4 --warmup 1 --repeats 2 run.ini &&
  [ -x study/jobs/2.sh ] &&
  [ "$(cat study/jobs/2.tasks)" = "strong-00002/1 400
strong-00002/2 400
weak-00002/1 300
weak-00002/2 300" ]
ok $? "six points, three jobs"
# the launcher of this build instead of mpirun
sed -i "s|mpirun -n \([0-9]*\).*|${MPIRUN:-mpirun} ${MPIRUN_FLAGS-} -n \1|" study/jobs/*.sh
try timeout 200 "$scaling" submit study && [ "$(grep -c 'exit status 0' said)" = 12 ]
ok $? "twelve runs"
[ ! -e study/strong-00002/1/out/snapshot_000.hdf5 ] && [ ! -e elsewhere ] && [ "$(ls study/ic)" = "150.hdf5
300.hdf5
400.hdf5
600.hdf5" ]
ok $? "no snapshots, initial conditions made once"
try "$scaling" collect study -o table.csv &&
  table '
    { n++; particles = $1 == "strong" ? 400 : 150 * $2
      if ($at["particles"] != particles || $at["steps"] != 2 || !($at["seconds"] > 0) || $at["imbalance"] < 1) bad = 1
      if (($2 > 1) != ($at["bytes_per_rank"] > 0) || !($at["t_walk"] > 0) || $at["backend"] !~ /^(cpu|cuda)$/ ||
        $at["hosts"] == "-") bad = 1 }
    END { exit bad || n != 12 }' table.csv
ok $? "the table"
# bytes of a rank and step against comm.csv itself
awk -F, 'FNR == 1 { file++ } /^#/ { next } $1 == "step" || $1 == "study" { for (i = 1; i <= NF; i++) at[$i] = i; next }
  file == 1 { if ($1 >= 2 && $1 <= 3 && $at["rank"] == -1) bytes += $at["bytes"]; next }
  $1 == "weak" && $2 == 2 && $at["repeat"] == 1 { x = $at["bytes_per_rank"] }
  END { exit !(bytes > 0 && x > 0.999 * bytes / 4 && x < 1.001 * bytes / 4) }' study/weak-00002/1/out/comm.csv table.csv
ok $? "bytes a rank sends are those of comm.csv"
if "$src/tools/espalier-plot" --find > /dev/null 2>&1; then
  [ "$(head -c 4 table.png | tail -c 3)" = PNG ] && has said '^ *2 *300 '
  ok $? "the plot, and its numbers on the terminal"
  sed 's/transfer/transport/' table-report.csv > bad.csv
  try "$src/tools/espalier-plot" scaling --report bad.csv table.csv
  [ $? = 1 ] && has err "^espalier-plot scaling: bad.csv has no column 'transfer'"
  ok $? "a report without a column"
  sed 's/imbalance/imbal/' table.csv > bad.csv
  try "$src/tools/espalier-plot" scaling bad.csv
  [ $? = 1 ] && has err "^espalier-plot scaling: bad.csv has no column 'imbalance'"
  ok $? "a table without a column"
fi
# the report of real runs: the products of POP's tree, and cost
table '
  function near(a, b) { return a > 0.999 * b && a < 1.001 * b }
  { n++; p = $at["parallel_efficiency"]; c = $at["communication_efficiency"]
    if (!(p > 0) || !near(p, $at["load_balance"] * c) || !near(c, $at["serialisation"] * $at["transfer"]) ||
      $at["load_balance"] > 1 || $at["serialisation"] > 1.0001 ||
        !near($at["global_efficiency"], p * $at["computation_scaling"]) ||
          !near($at["node_hours_per_time"], $at["nodes"] * $at["seconds"] / 3600 / 0.03125) ||
        $at["repeats"] != 2 || ($2 == 1 && ($at["speedup"] != 1 || $at["load_balance"] != 1))) { print "# " $0;
          bad = 1 } }
  END { exit bad || n != 6 }' table-report.csv > err
ok $? "the report of runs on one, two and four ranks"
# what runs measured themselves: in the table, and in the report where there are no recordings
table '{ n++; p = $at["parallel_efficiency"]; l = $at["load_balance"]; c = $at["communication_efficiency"]
    d = p - l * c
    if (!(l > 0) || l > 1 || !(c > 0) || c > 1 || !(p > 0) || d > 1e-6 || d < -1e-6 ||
      ($2 == 1 && (l != 1 || c != 1))) { print "# " $0; bad = 1 } } END { exit bad || n != 12 }' table.csv
ok $? "efficiencies that runs measured"
cp -r study untraced && rm -r untraced/*/*/out/trace_000000 &&
  try "$scaling" collect untraced -o untraced.csv &&
  columns table.csv ranks load_balance communication_efficiency parallel_efficiency > want &&
  columns untraced.csv ranks load_balance communication_efficiency parallel_efficiency | cmp - want &&
  table '{ n++; p = $at["parallel_efficiency"]; l = $at["load_balance"]; d = p - l * $at["communication_efficiency"]
      if (!(p > 0) || p > 1 || l > 1 || d > 1e-6 || d < -1e-6 || $at["serialisation"] != "" || $at["transfer"] != "" ||
        ($2 == 1) != (p == 1)) { print "# " $0; bad = 1 } } END { exit bad || n != 6 }' untraced-report.csv
ok $? "the report without recordings"
# numbers that are known: two repeats of which the median counts, an empty column, 2 ranks on a node
cat > known.csv << END
# by hand
study,ranks,particles,seconds,nodes,work_mean,work_max,ideal,dt,gyr,watts
strong,1,1000,8,1,8,8,8,0.5,0.25,100
strong,4,1000,4,2,1.6,2,3.2,0.5,0.25,150
strong,4,1000,2,2,1.6,2,3.2,0.5,0.25,150
strong,4,1000,9,2,1.6,2,3.2,0.5,0.25,150
weak,1,1000,8,1,,,,0.5,0,0
weak,2,2000,10,1,,,,0.5,0,0
END
try python3 "$src/jobscripts/scaling_report.py" known.csv known-report.csv && sed 1,2d known-report.csv > got &&
  cat > want << END
strong,1,1,1000,8,1,1,1,1,1,1,1,1,1,0.00444444444,0.0177777778,100,800,1
strong,4,2,1000,4,2,0.5,0.4,0.8,0.5,0.625,0.8,1.25,0.5,0.00444444444,0.0177777778,150,1200,3
weak,1,1,1000,8,1,1,,,,,,,,0.00444444444,,,,1
weak,2,1,2000,10,1.6,0.8,,,,,,,,0.00555555556,,,,1
END
diff want got > err && has said '^strong: speed-up and efficiency' &&
  has said '^ *4  *0.400  *0.800  *0.500  *0.625  *0.800  *1.250  *0.500$' && lacks said '^weak: POP'
ok $? "the report of numbers known by hand"
for line in 'strong,0,1000,8' 'strong,1,1000,-8' 'strong,1,many,8'; do
  printf 'study,ranks,particles,seconds\n%s\n' "$line" > bad.csv
  try python3 "$src/jobscripts/scaling_report.py" bad.csv
  [ $? = 1 ] && has err '^scaling_report.py: bad.csv, row 1: .*: expected a number above 0'
  ok $? "a bad row: $line"
done
# power: counters of processors that pass their end, and samples of two GPUs
mkdir -p cap/intel-rapl:0 cap/intel-rapl:0:0 bin && echo 5000000 > cap/intel-rapl:0/energy_uj &&
  echo 900000000 > cap/intel-rapl:0:0/energy_uj && echo 20000000 > cap/intel-rapl:0/max_energy_range_uj
cat > bin/nvidia-smi << 'END'
#!/bin/sh
case $* in
  *--list-gpus*) echo "GPU 0: a"; echo "GPU 1: b" ;;
  *power*) echo 200; echo 300; sleep 5 ;;
  *) echo "a, 5 MHz" ;;
esac
END
chmod +x bin/nvidia-smi
rm study/weak-00001/1/done
POWERCAP=$dir/cap PATH=$dir/bin:$PATH timeout 100 "$scaling" submit study > said 2> err
has study/weak-00001/1/energy '^before=5000000$' && has study/weak-00001/1/energy '^gpus=2$' &&
  [ "$(cat study/weak-00001/1/power)" = "200
300" ]
ok $? "counters and samples of power are kept"
sed -i 's/^seconds=.*/seconds=10/; s/^before=.*/before=15000000/' study/weak-00001/1/energy
try "$scaling" collect study -o power.csv &&
  table '$1 == "weak" && $2 == 1 && $at["repeat"] == 1 { x = $at["watts"] } END { exit x != 501 }' power.csv
ok $? "and give the mean power of the node"
rm study/weak-00001/2/done
try "$scaling" collect study && has said '1 repeats are missing' && has err 'weak-00001/2: not done (see its run.log)'
ok $? "a repeat that is missing is named"
try timeout 100 "$scaling" submit study && [ "$(grep -c 'exit status 0' said)" = 1 ] && has said '^2 ranks: done' &&
  [ -e study/weak-00001/2/done ]
ok $? "and made up for, alone"

sed -i '1s/, 2 ranks x/, 3 ranks x/' study/weak-00002/1/out/steps.csv
try "$scaling" collect study && has said '1 repeats are missing' &&
  has err 'weak-00002/1: the run had 3 ranks instead of 2'
ok $? "a run on another number of ranks does not count"

for system in slurm pbs pjm; do
  make $system --system $system --ranks 2,8 --weak 150 --ranks-per-node 4 --threads 3 run.ini &&
    bash -n $system/jobs/8.sh && ! grep -q '@[A-Z_]*@' $system/jobs/*.sh &&
    grep -q -E '^#(SBATCH --nodes=2|PBS -l select=2:mpiprocs=4:ompthreads=3|PJM -L node=2)$' $system/jobs/8.sh
  ok $? "jobs for $system"
done
# a number of ranks that is no multiple of those of a node
for system in slurm pbs pjm; do
  make odd-$system --system $system --ranks 6 --weak 150 --ranks-per-node 4 run.ini &&
    grep -q -E '^(#SBATCH --nodes=2|#PBS -l select=2:mpiprocs=4:.*|#PJM -L node=2)$' odd-$system/jobs/6.sh &&
    has odd-$system/jobs/6.sh '^ *[^#]*mpi\(run\|exec\) -n 6\( \|$\)'
  ok $? "$system: 6 ranks on nodes of 4"
done
# names that a shell or a command could take for something else
# shellcheck disable=SC2006  # a name
for name in 'st$(touch${IFS}X)' 'a "b" `touch X` $HOME \ c; touch X' '-n'; do
  make --system local --ranks 1 --strong 100 --steps 3 --warmup 1 --repeats 1 -- "$name" run.ini &&
    sed -i "s|mpirun -n \([0-9]*\).*|${MPIRUN:-mpirun} ${MPIRUN_FLAGS-} -n \1|" "./$name/jobs/1.sh" &&
    try timeout 100 "$scaling" submit -- "$name" && has said 'strong-00001/1: exit status 0' &&
    try "$scaling" collect -- "$name" && has "./$name/scaling.csv" '^strong,1,' && [ -z "$(find . -name X)" ]
  ok $? "a study in the folder $name"
done
make --system slurm --ranks 2 --weak 150 'two words' run.ini &&
  grep -q -x '#SBATCH --output=jobs/%x-%A-%a.log' 'two words/jobs/2.sh' &&
  grep -q '^exec ".*/two words/point.sh"' 'two words/jobs/2.sh'
ok $? "slurm: a folder of two words"
# a batch system that keeps what it gets
printf '#!/bin/sh\n{ pwd; printf "%%s\\n" "$@"; } > "%s/got"\n' "$dir" > sbatch
chmod +x sbatch
PATH=$dir:$PATH "$scaling" submit 'two words' > said 2> err && [ "$(cat got)" = "$dir/two words
$dir/two words/jobs/2.sh" ]
ok $? "... is submitted in this folder"
printf '#SBATCH --output=@DIRECTORY@/log\n' > template
# fails FRAGMENT ARGUMENT...
fails() {
  fragment=$1
  shift
  try "$scaling" "$@"
  [ $status != 0 ] && has err "^scaling.*: .*$fragment"
  ok $? "says: $fragment"
}
fails 'give --strong' make new --ranks 2 run.ini
fails 'absent.ini: there is no such file' make new --ranks 2 --weak 5 absent.ini
fails 'study already exists' make study --ranks 2 --weak 5 --program "$here/espalier" run.ini
fails 'there is no such program' make new --ranks 2 --weak 5 --program ./absent run.ini
fails 'invalid list of different whole numbers' make new --ranks 2,2 --weak 5 run.ini
fails 'must be more than --warmup' make new --ranks 2 --weak 5 --steps 3 run.ini
fails 'not a folder made by' submit .
fails 'no repeat is done' collect slurm
fails 'a path without spaces and special characters was expected' make 'new $x' --ranks 2 --weak 5 --program \
  "$here/espalier" --template template run.ini
fails 'a path without control characters was expected' make 'new
touch X' --ranks 2 --weak 5 --program "$here/espalier" run.ini
fails 'invalid time' make new --ranks 2 --weak 5 --time '5
touch X' run.ini
fails '/proc/study' make /proc/study --ranks 2 --weak 5 --program "$here/espalier" run.ini
! ls | grep -q new
ok $? "and makes nothing"
finish
