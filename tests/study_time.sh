#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier study time and study machine: tables, facts that the model must satisfy, machine files that are wrong.
set -u
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
here=$(pwd)
source=$(cd "${srcdir:-.}" && pwd)
. "${srcdir:-.}/tests/tap.sh"
shown="$dir/log"
export OMP_NUM_THREADS=1
# espalier RANKS ARGUMENT...: with so many processes; what it says is in the log
espalier() {
  processes=$1; shift
  # shellcheck disable=SC2086
  (cd "$dir" && timeout 120 ${MPIRUN:-mpirun} ${MPIRUN_FLAGS-} -n "$processes" "$here/espalier" "$@" > log 2>&1 < /dev/null)
}
./espalier ic plummer -n 5000 -s 3 -o "$dir/plummer.hdf5" > "$dir/log" 2>&1
./espalier ic plummer -n 600 -s 3 -o "$dir/few.hdf5" > "$dir/log" 2>&1
printf '%s\n' '[Input]' 'InitCondFile = plummer.hdf5' '[Units]' 'GravityConstantInternal = 1' '[Gravity]' 'Softening = 0.01' > "$dir/plummer.ini"
sed 's/plummer.hdf5/few.hdf5/' "$dir/plummer.ini" > "$dir/few.ini"

# machine KEY=VALUE...: a machine file with these values in place of others
machine() {
  cp "$source/params/machines/slingshot.ini" "$dir/machine.ini"
  for pair; do sed -i "s|^${pair%%=*} = .*|${pair%%=*} = ${pair#*=}|" "$dir/machine.ini"; done
}
# value SCHEME RANKS NAME: of table.csv
value() {
  awk -F, -v scheme="$1" -v ranks="$2" -v name="$3" '/^#/ { next } $1 == "machine" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $(at["scheme"]) == scheme && $(at["ranks"]) == ranks { print $(at[name]) }' "$dir/table.csv"
}
# true EXPRESSION: of numbers
holds() { awk "BEGIN { exit !($1) }"; }

for file in "$source"/params/machines/*.ini; do
  espalier 1 study time --machine "$file" --ranks 8 --scheme shared few.ini
  ok $? "$(basename "$file") is read"
done

# rates that a file may lack: those of all particles, unless it has them; 1.93e12 is the WalkRate of the file
rates() {
  machine MessageCopy=0 WalkFloor=0 SubstepFloor=0
  for line; do echo "$line" >> "$dir/machine.ini"; done
  rm -f "$dir/table.csv"
  espalier 1 study time --machine machine.ini --ranks 1 -o table.csv plummer.ini
}
rates
base="$(value shared 1 walk_mean) $(value hybrid 1 walk_mean) $(value block 1 hard_walk_mean) $(value hybrid 1 hard_walk_mean) $(value hybrid 1 tree_mean)"
rates 'SplitRate = 0.965e12' 'BlockRate = 0.4825e12'
now="$(value shared 1 walk_mean) $(value hybrid 1 walk_mean) $(value block 1 hard_walk_mean) $(value hybrid 1 hard_walk_mean)"
echo "$base $now" | awk '{ near = 1e-6; exit !($1 > 0 && $6 == $1 && ($7 / $2 - 2) ^ 2 < near && ($8 / $3 - 4) ^ 2 < near && $9 == $4) }'
ok $? "SplitRate is of full forces of hybrids, BlockRate of block steps alone"
rates 'UpdateRate = 1e9' 'CorrectRate = 1e9'
now="$(value shared 1 walk_mean) $(value hybrid 1 hard_walk_mean) $(value hybrid 1 tree_mean)"
echo "$base $now" | awk '{ exit !(($6 - $1 - 5e-6) ^ 2 < 1e-14 && $7 > $4 && $8 > $5) }'
ok $? "CorrectRate and UpdateRate add to the time of every particle"

# no network: the sum of work
machine Latency=0 HopLatency=0 Overhead=0 Bandwidth=1e18 NodeLatency=0 NodeBandwidth=1e18 MessageCopy=0 RanksPerNode=1 WalkFloor=0 SubstepFloor=0
espalier 1 study time --machine machine.ini --ranks 1,2,16 -o table.csv --overwrite plummer.ini
ok $? "three schemes, three numbers of ranks"
good=0
for scheme in shared block hybrid; do
  for p in 2 16; do
    holds "$(value $scheme $p collective_critical) < 1e-9 && $(value $scheme $p migration_critical) < 1e-9" || good=1
    # full forces: N F / rate over all ranks, whatever P
    holds "$(value $scheme $p walk_mean) * $p < 1.000001 * $(value $scheme 1 walk_mean) && $(value $scheme $p walk_mean) * $p > 0.999999 * $(value $scheme 1 walk_mean)" || good=1
    holds "$(value $scheme $p soft_step_seconds) >= $(value $scheme $p walk_mean)" || good=1
  done
done
ok $good "without a network the work is that of one rank, divided, and messages take no time"
free=$(value hybrid 16 soft_step_seconds)
machine WalkFloor=0 SubstepFloor=0 MessageCopy=0 RanksPerNode=1
espalier 1 study time --machine machine.ini --ranks 16 --scheme hybrid -o table.csv --overwrite plummer.ini
near=$(value hybrid 16 soft_step_seconds)
machine WalkFloor=0 SubstepFloor=0 MessageCopy=0 RanksPerNode=1 Latency=1e-3
espalier 1 study time --machine machine.ini --ranks 16 --scheme hybrid -o table.csv --overwrite plummer.ini
far=$(value hybrid 16 soft_step_seconds)
holds "$free < $near && $near < $far && $far > 0.02"
ok $? "a soft step takes longer with a network, and with a slower one: $free, $near, $far s"
machine Bandwidth=1e18
espalier 2 study time --machine machine.ini --ranks 16 --scheme hybrid,block -o two.csv plummer.ini
espalier 1 study time --machine machine.ini --ranks 16 --scheme hybrid,block -o one.csv plummer.ini
awk -F, 'FNR == NR { if ($5 + 0 > 0) { n++; a[$2] = $8 } next } $5 + 0 > 0 && (a[$2] > 1.02 * $8 || a[$2] < 0.98 * $8) { bad = 1 } END { exit bad || n != 2 }' "$dir/one.csv" "$dir/two.csv"
ok $? "the number of processes does not matter"
espalier 1 study time --machine machine.ini --ranks 1024,1048576 --scheme shared -o table.csv --overwrite plummer.ini
test $? = 0 && grep -q 'laws: ' "$dir/log" && test "$(value shared 1048576 by)" = 'law*' && grep -q 'P = 16 to 256' "$dir/log"
ok $? "numbers of ranks that cannot be counted follow laws, whose range is said"
ESPALIER_DEBUG=let_stages=64
export ESPALIER_DEBUG
machine Bandwidth=1e9
espalier 1 study time --machine machine.ini --ranks 256,1048576 --scheme shared -o table.csv --overwrite plummer.ini
status=$? staged=$(value shared 1048576 collective_critical) counted=$(value shared 256 collective_critical)
unset ESPALIER_DEBUG
espalier 1 study time --machine machine.ini --ranks 256,1048576 --scheme shared -o table.csv --overwrite plummer.ini
test $status = 0 && gathered=$(value shared 1048576 collective_critical) && holds "$staged > 2 * $counted && $staged < 0.05 * $gathered"
ok $? "LET summaries in stages: seconds of collectives on 2^20 ranks grow with the logarithm of their number: $counted on 256, $staged, with allgathers $gathered"
machine Bandwidth=1e18
espalier 1 study time --machine machine.ini --ranks 64,4096 --weak 1000 --scheme shared -o table.csv --overwrite plummer.ini
test $? = 0 && holds "$(value shared 4096 collective_critical) > $(value shared 64 collective_critical)" &&
  test "$(value shared 4096 particles)" = 4096000
ok $? "weak scaling: collectives grow with the number of ranks"
espalier 1 study time --machine machine.ini --ranks 1048576 few.ini
test $? = 1 && grep -q 'error: --ranks: 600 particles can be counted on at most 37 ranks' "$dir/log"
ok $? "too few particles for laws: a sentence"

# wrong TEXT KEY=VALUE: this is said, with file and line
wrong() {
  text=$1; shift
  machine "$@"
  espalier 1 study time --machine machine.ini plummer.ini
  test $? = 1 && grep -q "espalier: error: machine.ini:[0-9]*: .*$text" "$dir/log"
  ok $? "machine file with $*: $text"
}
wrong '\[Network\] Latency: expected a number from 0 to 1, found .-1' Latency=-1
wrong '\[Device\] WalkRate: expected a number, found .fast' WalkRate=fast
wrong '\[Device\] WalkRate: expected a number, found .nan' WalkRate=nan
wrong '\[Network\] Topology: expected flat, fat-tree, dragonfly or torus, found .hypercube' Topology=hypercube
wrong '\[Device\] Kind: expected cpu or gpu, found .abacus' Kind=abacus
machine; sed -i '/^Overhead/d' "$dir/machine.ini"
espalier 1 study time --machine machine.ini plummer.ini
test $? = 1 && grep -q 'machine.ini: \[Network\] Overhead is missing' "$dir/log"
ok $? "a missing key: a sentence"
machine; echo 'Flops = 1' >> "$dir/machine.ini"
espalier 1 study time --machine machine.ini plummer.ini
test $? = 1 && grep -q 'machine.ini:[0-9]*: \[Device\] Flops: the key is not one of machine files' "$dir/log"
ok $? "an unknown key: a sentence"
machine; echo 'WalkRate = 1' >> "$dir/machine.ini"
espalier 1 study time --machine machine.ini plummer.ini
test $? = 1 && grep -q 'WalkRate: given before, in line [0-9]' "$dir/log"
ok $? "a key given twice: a sentence"
espalier 1 study time --machine none.ini plummer.ini
test $? = 1 && grep -q 'none.ini: expected a machine file' "$dir/log"
ok $? "no file: a sentence"
espalier 1 study time plummer.ini
test $? = 2 && grep -q 'option --machine FILE is missing' "$dir/log"
ok $? "no machine: a sentence"

espalier 2 study machine -o here.ini
test $? = 0 && espalier 1 study time --machine here.ini --ranks 2 --scheme hybrid plummer.ini
ok $? "study machine writes a file that study time reads"
espalier 2 study machine -o here.ini
test $? = 1 && grep -q 'here.ini: already exists' "$dir/log"
ok $? "which is not replaced"
espalier 1 study machine
test $? = 1 && grep -q 'start it on at least 2' "$dir/log"
ok $? "study machine on one rank: a sentence"
echo "1..$number"
exit $failed
