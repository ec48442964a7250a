#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier study time and study machine: tables, facts that the model must satisfy, machine files that are wrong.
. "${srcdir:-.}/tests/harness.sh"
source=$(cd "${srcdir:-.}" && pwd)
# espalier RANKS ARGUMENT...: with so many processes
espalier() { limit=120 try launch "$@"; }
for n in 5000 600; do
  file=$([ $n = 600 ] && echo few || echo plummer)
  model plummer -n $n -s 3 -o $file.hdf5
  parameters $file.ini Input:InitCondFile=$file.hdf5 Gravity:Softening=0.01
done

# machine KEY=VALUE...: a machine file without the keys that it may lack, with these values in place of others
lacks=$(printf '%s\\|' StepFloor StepRate TreeFloor RebuildRate UpdateRate WalkFill SplitRate BlockRate RanksFloor \
  RanksSubstepFloor LetFloor HardLetFloor DomainRate MigrateRate HardLetRate LetRate)
machine() {
  sed "/^\(${lacks}none\) = /d" "$src/params/machines/slingshot.ini" > machine.ini
  for pair in WalkFloor=9e-5 WalkRate=1.93e12 HardRate=9.65e11 OrderRate=5.4e9 BuildRate=6.5e9 SubstepFloor=1e-4; do
    sed -i "s|^${pair%%=*} = .*|${pair%%=*} = ${pair#*=}|" machine.ini
  done
  for pair; do sed -i "s|^${pair%%=*} = .*|${pair%%=*} = ${pair#*=}|" machine.ini; done
}
# value SCHEME RANKS NAME: of table.csv
value() {
  awk -F, -v scheme="$1" -v ranks="$2" -v name="$3" '/^#/ { next }
    $1 == "machine" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $(at["scheme"]) == scheme && $(at["ranks"]) == ranks { print $(at[name]) }' table.csv
}
# values [SCHEME RANKS COLUMN]...: the same, of many
values() {
  while [ $# -gt 0 ]; do
    printf '%s ' "$(value "$1" "$2" "$3")"
    shift 3
  done
}
# factors SCHEME RANKS: load balance, serialisation and transfer of table.csv, after a check that the table on the
# terminal has them and their products
factors() {
  values "$1" "$2" load_balance "$1" "$2" serialisation "$1" "$2" transfer > factors
  awk -v scheme="$1" -v ranks="$2" 'function near(a, b) { return (a - b) ^ 2 < 4e-6 }
    FNR == NR { l = $1; s = $2; t = $3; next }
    / scheme / { here = $0 ~ "scheme " scheme "," } /^POP/ { pop = here } /^Parts/ { pop = 0 }
    pop && $1 == ranks { n++; good = near($2, l * s * t) && near($3, l) && near($4, s * t) && near($5, s) && near($6, t)
      }
    END { if (n == 1 && good && l > 0 && l < 1.000002 && s > 0 && s < 1.000002 && t > 0 && t < 1.000002) print l, s, t
      else print "wrong" }' factors said
}
# true EXPRESSION: of numbers
holds() { awk "BEGIN { exit !($1) }"; }

for file in "$src"/params/machines/*.ini; do
  espalier 1 study time --machine "$file" --ranks 8 --scheme shared few.ini
  ok $? "$(basename "$file") is read"
done

# a name with a comma
machine 'Name=A "fast", large machine'
says 0 -- espalier 1 study time --machine machine.ini --ranks 1,8 --scheme shared -o table.csv few.ini &&
  test "$(value shared 8 by)" = count && has table.csv '^A ;fast;; large machine,shared,' &&
  has said '^A "fast", large machine: strong'
ok $? "the name of a machine is one field of the table"
rm -f table.csv

# rates that a file may lack: those of all particles, unless it has them; 1.93e12 is the WalkRate of the file
rates() {
  machine MessageCopy=0 WalkFloor=0 SubstepFloor=0
  for line; do echo "$line" >> machine.ini; done
  rm -f table.csv
  espalier 1 study time --machine machine.ini --ranks 1 -o table.csv plummer.ini
}
rates
base="$(values shared 1 walk_mean hybrid 1 walk_mean block 1 hard_walk_mean hybrid 1 hard_walk_mean hybrid 1 tree_mean)"
rates 'SplitRate = 0.965e12' 'BlockRate = 0.4825e12'
now="$(values shared 1 walk_mean hybrid 1 walk_mean block 1 hard_walk_mean hybrid 1 hard_walk_mean)"
echo "$base $now" |
  awk '{ near = 1e-6; exit !($1 > 0 && $6 == $1 && ($7 / $2 - 2) ^ 2 < near && ($8 / $3 - 4) ^ 2 < near && $9 == $4) }'
ok $? "SplitRate is of full forces of hybrids, BlockRate of block steps alone"
rates 'UpdateRate = 1e9' 'CorrectRate = 1e9'
now="$(value shared 1 step_mean) $(value hybrid 1 hard_walk_mean) $(value hybrid 1 tree_mean)"
echo "$base $now" | awk '{ exit !(($6 - 5e-6) ^ 2 < 1e-14 && $7 > $4 && $8 > $5) }'
ok $? "CorrectRate and UpdateRate add to the time of every particle"

# a shared step of one rank is fixed costs and counts divided by rates, and nothing else
machine MessageCopy=0 WalkFloor=0.125 SubstepFloor=0.0625 OrderRate=1e4 BuildRate=2e4
printf '%s\n' 'StepFloor = 0.5' 'StepRate = 1e3' 'CorrectRate = 1e5' 'TreeFloor = 0.25' 'WalkFill = 6e8' >> machine.ini
espalier 1 study time --machine machine.ini --ranks 1 --overwrite -o table.csv plummer.ini
now="$(values shared 1 step_mean shared 1 tree_mean shared 1 walk_mean shared 1 soft_step_seconds)"
echo "$base $now" | awk '
  function near(a, b) { return (a / b - 1) ^ 2 < 1e-12 }
  { pairs = $1 * 1.93e12; walk = 0.125 + (pairs + 6e8 * (1 - exp(-64 * pairs / 6e8))) / 1.93e12
    exit !(near($6, 0.5 + 5000 / 1e3 + 5000 / 1e5) && near($7, 0.25 + 5000 / 1e4 + 5000 / 2e4) && near($8, walk) &&
      near($9, $6 + $7 + $8)) }'
ok $? "a shared step of one rank: fixed costs, and counts divided by rates"

# block steps: so many times their fixed costs and those of a walk
machine MessageCopy=0 WalkFloor=0 SubstepFloor=0
espalier 1 study time --machine machine.ini --ranks 1 --scheme block --overwrite -o table.csv plummer.ini
before=$(value block 1 hard_walk_mean)
machine MessageCopy=0 WalkFloor=1 SubstepFloor=0.5
espalier 1 study time --machine machine.ini --ranks 1 --scheme block --overwrite -o table.csv plummer.ini
steps=$(awk "BEGIN { printf \"%.4f\", ($(value block 1 hard_walk_mean) - $before) / 1.5 }")
case $steps in 3.0000 | 7.0000 | 15.0000 | 31.0000) good=0 ;; *) good=1 ;; esac
ok $good "block steps: $steps times SubstepFloor and WalkFloor"

# rates of ranks side by side, and what several ranks have
several() {
  machine MessageCopy=0 RanksPerNode=3 WalkFloor=0
  for line; do echo "$line" >> machine.ini; done
  espalier 1 study time --machine machine.ini --ranks 1,2 --scheme shared,hybrid --overwrite -o table.csv plummer.ini
}
several 'TreeFloor = 0'
base="$(values shared 1 walk_mean shared 2 walk_mean shared 2 migration_mean shared 2 let_select_mean \
  hybrid 2 hard_walk_mean hybrid 2 hard_let_mean hybrid 2 tree_mean)"
several 'NodeFactor = 0.5'
echo "$base $(value shared 1 walk_mean) $(value shared 2 walk_mean) $(value hybrid 2 tree_mean)" | awk '
  function near(a, b) { return (a / b - 1) ^ 2 < 1e-8 }
  { exit !($8 == $1 && near($9, $2 / 0.75) && near($10, $7 / 0.75)) }'
ok $? "NodeFactor: two of three ranks of a node have three quarters of the rate of one alone"
several 'RanksFloor = 1' 'LetFloor = 2' 'HardLetFloor = 4' 'RanksSubstepFloor = 8'
now="$(values shared 1 soft_step_seconds shared 2 migration_mean shared 2 let_select_mean \
  hybrid 2 hard_walk_mean hybrid 2 hard_let_mean)"
echo "$base $now" | awk '
  function near(a, b) { return (a - b) ^ 2 < 1e-6 }
  function whole(a) { return a > 0.5 && (a - int(a + 0.5)) ^ 2 < 1e-6 }
  { exit !($8 < 1 && near($9, $3 + 1) && near($10, $4 + 2) && whole(($11 - $5) / 8) && whole(($12 - $6) / 4)) }'
ok $? "fixed costs of several ranks, which one rank has not"

# interactions of three ranks, whose domains cut cells, counted without them, beside those of a run
machine MessageCopy=0 WalkFloor=0
espalier 1 study time --machine machine.ini --ranks 1,3 --scheme shared --overwrite -o table.csv plummer.ini
for p in 1 3; do
  espalier $p run --no-output --overwrite -n 3 -P Device:Backend=cpu -P Split:Mode=tree -P Steps:Scheme=shared \
    -P Time:TimeMax=64 -P Output:OutputDir=run$p plummer.ini
done
pairs() {
  awk -F, '/^#/ { next } !at { for (i = 1; i <= NF; i++) if ($i == "pairs_full") at = i; next } { print $at; exit }' \
    "run$1/steps.csv"
}
run=$(awk "BEGIN { print $(pairs 3) / $(pairs 1) }")
counted=$(awk "BEGIN { print 3 * $(value shared 3 walk_mean) / $(value shared 1 walk_mean) }")
holds "$counted > 1.01 && $run > 1.01 && $counted - $run < 0.04 && $counted - $run > -0.04"
ok $? "interactions of three ranks over those of one: $counted counted, $run in a run"

# no network: the sum of work
machine Latency=0 HopLatency=0 Overhead=0 Bandwidth=1e18 NodeLatency=0 NodeBandwidth=1e18 MessageCopy=0 RanksPerNode=1 \
  WalkFloor=0 SubstepFloor=0
espalier 1 study time --machine machine.ini --ranks 1,2,16 -o table.csv --overwrite plummer.ini
ok $? "three schemes, three numbers of ranks"
cp said shown
for p in 1 2 16; do
  for scheme in shared block hybrid; do echo "$(value $scheme $p unit_seconds) $scheme"; done | sort -g |
    awk -v p=$p '{ printf "%s %s %.4g s", NR == 1 ? "  P = " p ":" : NR == 2 ? "; then" : ",", $2, $1 }
      END { print "" }'
done > fastest
sed -n '/^Fastest scheme/,$p' shown | sed 1d | cmp - fastest
ok $? "the last lines name the fastest scheme of each number of ranks: $(paste -s -d' ' fastest)"
good=0
for phase in $(sed -n 's/^machine,//p' table.csv | tr , '\n' | sed -n 's/_critical$//p'); do
  has shown "^  $phase  *[a-z]" || { good=1; echo "# $phase is not explained"; }
done
test "$(grep -c '^  [a-z_]*  *[a-z]' shown)" -ge 9 && test "$(grep -c '^Columns:$' shown)" = 1 &&
  lacks shown '.\{121\}' || good=1
ok $good "a legend explains the parts of a soft step, once; lines have at most 120 columns"
good=0
for scheme in shared block hybrid; do
  for p in 2 16; do
    holds "$(value $scheme $p collective_critical) < 1e-9 && $(value $scheme $p migration_critical) < 1e-9" || good=1
    # full forces: as on one rank, but for cells that domains cut
    part="$(value $scheme $p walk_mean) * $p" alone=$(value $scheme 1 walk_mean)
    holds "$part < 1.3 * $alone && $part > 0.97 * $alone" || good=1
    holds "$(value $scheme $p soft_step_seconds) >= $(value $scheme $p walk_mean)" || good=1
  done
done
ok $good "without a network the work is that of one rank, divided, and messages take no time"
good=0
for scheme in shared block hybrid; do
  for p in 1 2 16; do
    factors $scheme $p > found
    awk -v p=$p '{ exit !($1 > 0.3 && $2 > 0.3 && $3 > 0.9999 && (p > 1 ? $1 < 1 : $1 == 1 && $2 == 1)) }' found ||
      { good=1; echo "# $scheme, $p ranks: $(cat found)"; }
  done
done
ok $good "efficiencies without a network: transfer 1; one rank has 1, several differ in work"
free=$(value hybrid 16 soft_step_seconds)
machine WalkFloor=0 SubstepFloor=0 MessageCopy=0 RanksPerNode=1
espalier 1 study time --machine machine.ini --ranks 16 --scheme hybrid -o table.csv --overwrite plummer.ini
near=$(value hybrid 16 soft_step_seconds)
machine WalkFloor=0 SubstepFloor=0 MessageCopy=0 RanksPerNode=1 Latency=1e-3
espalier 1 study time --machine machine.ini --ranks 16 --scheme hybrid -o table.csv --overwrite plummer.ini
far=$(value hybrid 16 soft_step_seconds)
slow=$(factors hybrid 16)
echo "$slow $free $far" | awk '{ d = $3 * $5 / $4 - 1; exit !($3 < 0.2 && d < 1e-3 && d > -1e-3) }'
ok $? "efficiencies with a slow network: transfer is the time without one over the time: $slow"
holds "$free < $near && $near < $far && $far > 0.02"
ok $? "a soft step takes longer with a network, and with a slower one: $free, $near, $far s"
machine Bandwidth=1e18
# one process on a device takes direct sums for so few particles, several do not
cpu='-P Device:Backend=cpu'
espalier 2 study time --machine machine.ini --ranks 16 --scheme hybrid,block $cpu -o two.csv plummer.ini
espalier 1 study time --machine machine.ini --ranks 16 --scheme hybrid,block $cpu -o one.csv plummer.ini
awk -F, 'FNR == NR { if ($5 + 0 > 0) { n++; a[$2] = $8 } next }
  $5 + 0 > 0 && (a[$2] > 1.02 * $8 || a[$2] < 0.98 * $8) { bad = 1 } END { exit bad || n != 2 }' one.csv two.csv
ok $? "the number of processes does not matter"
espalier 3 study time --machine machine.ini --ranks 1 --scheme shared,block $cpu -o two.csv --overwrite plummer.ini
espalier 1 study time --machine machine.ini --ranks 1 --scheme shared,block $cpu -o one.csv --overwrite plummer.ini
awk -F, 'FNR == NR { if ($5 + 0 > 0) { n++; a[$2] = $8 } next }
  $5 + 0 > 0 && (a[$2] > 1.03 * $8 || a[$2] < 0.97 * $8) { bad = 1 } END { exit bad || n != 2 }' one.csv two.csv
ok $? "nor for the interactions of one rank"
machine Kind=gpu
espalier 1 study time --machine machine.ini --ranks 1,4 --scheme shared -P Device:Backend=cpu --overwrite -o table.csv \
  plummer.ini
unit="$(value shared 1 unit_seconds) $(value shared 4 unit_seconds)"
has said '^# interactions were counted by a CPU' && has said '^# on one rank a GPU takes direct sums for up to 16384' &&
  has said 'P ranks, each with a GPU$' &&
  awk -v unit="$unit" 'BEGIN { split(unit, u) } $1 == 4 && $4 == "count" { found++; e = u[1] / u[2] / 4;
    h = u[2] / 3600; good = ($7 - e) ^ 2 < 1e-6 && ($8 / h - 1) ^ 2 < 1e-3 && $2 == 1 }
    END { exit !(found == 1 && good) }' said
ok $? "a GPU: what the prediction lacks; nodes, efficiency, node hours"
says 0 'laws: ' -- espalier 1 study time --machine machine.ini --ranks 1024,1048576 --scheme shared -o table.csv \
  --overwrite plummer.ini && test "$(value shared 1048576 by)" = 'law*' && has said 'P = 16 to 256' &&
  test "$(values shared 1048576 load_balance shared 1048576 serialisation shared 1048576 transfer)" = '0 0 0 ' &&
  has said '^ *1048576  *-  *-  *-  *-  *-$'
ok $? "numbers of ranks that cannot be counted follow laws, whose range is said"
lacks said 'Fastest' && has said '^# P = 1048576: more ranks than particles (5000), so some ranks have none$'
ok $? "one scheme has no fastest one; more ranks than particles are said"
ESPALIER_DEBUG=let_stages=256   # that of the count with most ranks is in stages, of those for the laws none is
export ESPALIER_DEBUG
machine Bandwidth=1e9
espalier 1 study time --machine machine.ini --ranks 256,1048576 --scheme shared -o table.csv --overwrite plummer.ini
status=$? staged=$(value shared 1048576 collective_critical) counted=$(value shared 256 collective_critical)
unset ESPALIER_DEBUG
says 0 -- espalier 1 study time --machine machine.ini --ranks 256,1048576 --scheme shared -o table.csv \
  --overwrite plummer.ini && gathered=$(value shared 1048576 collective_critical) &&
  holds "$staged > 2 * $counted && $staged < 0.05 * $gathered"
# on 2^20 ranks they grow with the logarithm of their number
ok $? "LET summaries in stages: seconds of collectives: $counted on 256, $staged on 2^20, with allgathers $gathered"
machine Bandwidth=1e18
says 0 -- espalier 1 study time --machine machine.ini --ranks 64,4096 --weak 1000 --scheme shared -o table.csv \
  --overwrite plummer.ini &&
  holds "$(value shared 4096 collective_critical) > $(value shared 64 collective_critical)" &&
  test "$(value shared 4096 particles)" = 4096000
ok $? "weak scaling: collectives grow with the number of ranks"
says 0 -- espalier 1 study time --machine machine.ini --ranks 2,16,64,512 --weak 100 --scheme shared -o table.csv \
  --overwrite plummer.ini && test \
  "$(value shared 2 by) $(value shared 16 by) $(value shared 64 by) $(value shared 512 by)" = 'law* law law law*' &&
  espalier 1 study time --machine machine.ini --ranks 64 --weak 1e6 --scheme shared -o table.csv \
  --overwrite plummer.ini && test "$(value shared 64 by)" = 'law*'
ok $? "fewer ranks, or more particles on each, than those of the laws: law*"
check "too few particles for laws: a sentence" \
  says 1 'error: --ranks: 600 particles can be counted on at most 37 ranks' \
  -- espalier 1 study time --machine machine.ini --ranks 1048576 few.ini
says 0 -- espalier 1 study time --machine machine.ini --scheme shared --overwrite -o table.csv few.ini &&
  test "$(value shared 16 by)" = count && test -z "$(value shared 64 by)" && has said '^# P = 64 and more: left out'
ok $? "without --ranks: those that can be predicted"
espalier 1 study time --machine machine.ini --ranks 4,700 few.ini
grep 'more ranks than particles' said > time
says 0 -- espalier 1 study let --ranks 4,700 few.ini && grep 'more ranks than particles' said | cmp - time &&
  test -s time
ok $? "more ranks than particles: study let has the same sentence"

# wrong TEXT KEY=VALUE: this is said, with file and line
wrong() {
  text=$1; shift
  machine "$@"
  check "machine file with $*: $text" \
    says 1 "espalier: error: machine.ini:[0-9]*: .*$text" -- espalier 1 study time --machine machine.ini plummer.ini
}
wrong '\[Network\] Latency: expected a number from 0 to 1, found .-1' Latency=-1
wrong '\[Device\] WalkRate: expected a number, found .fast' WalkRate=fast
wrong '\[Device\] WalkRate: expected a number, found .nan' WalkRate=nan
wrong '\[Device\] WalkRate: expected a number from 1 to 1e+18, found .0' WalkRate=0
wrong '\[Network\] RanksPerNode: expected a whole number, found .1.5' RanksPerNode=1.5
wrong '\[Network\] Sides: only Topology = torus has sides' 'Topology=dragonfly\nSides = 4,4,4'
wrong '\[Network\] Sides: expected X,Y,Z, .*found .4,4.' 'Topology=torus\nSides = 4,4'
machine RanksPerNode=1 'Topology=torus\nSides = 2,2,1'
check "sides with too few places: a sentence" \
  says 1 'a torus of 2 x 2 x 1 has no place for 8 ranks' -- \
  espalier 1 study time --machine machine.ini --ranks 4,8 few.ini
# wrong_line TEXT LINE: the same of a key that the file lacks
wrong_line() {
  machine; echo "$2" >> machine.ini
  check "machine file with $2: $1" \
    says 1 "espalier: error: machine.ini:[0-9]*: .*$1" -- espalier 1 study time --machine machine.ini plummer.ini
}
wrong_line '\[Device\] NodeFactor: expected a number from 0.001 to 1, found .1.5' 'NodeFactor = 1.5'
wrong_line '\[Device\] StepFloor: expected a number from 0 to 1000, found .-1' 'StepFloor = -1'
wrong_line '\[Device\] RanksFloor: expected a number, found .inf' 'RanksFloor = inf'
wrong_line '\[Device\] LetRate: expected a number from 1 to 1e+18, found .0' 'LetRate = 0'
wrong_line '\[Device\] WalkFill: expected a number, found .many' 'WalkFill = many'
wrong '\[Network\] Topology: expected flat, fat-tree, dragonfly or torus, found .hypercube' Topology=hypercube
wrong '\[Device\] Kind: expected cpu or gpu, found .abacus' Kind=abacus
machine; sed -i '/^Overhead/d' machine.ini
check "a missing key: a sentence" \
  says 1 'machine.ini: \[Network\] Overhead is missing' -- espalier 1 study time --machine machine.ini plummer.ini
machine; echo 'Flops = 1' >> machine.ini
check "an unknown key: a sentence" \
  says 1 'machine.ini:[0-9]*: \[Device\] Flops: the key is not one of machine files' \
  -- espalier 1 study time --machine machine.ini plummer.ini
# meant HINT LINE: an unknown key at the end of a machine file, and what was meant
meant() {
  machine; echo "$2" >> machine.ini
  check "$2: $1" \
    says 1 "machine.ini:[0-9]*: .* is not one of machine files$1\$" \
    -- espalier 1 study time --machine machine.ini plummer.ini
}
meant "; did you mean 'UpdateRate'?" 'UpdatRate = 1e9'
meant "; did you mean 'Latency' in .Network.?" 'Latency = 1e-6'
meant '' 'Teraflops = 1'
machine; sed -i 's/^.Network./[Netwrk]/' machine.ini
check "an unknown section: the one that was meant" \
  says 1 '\[Netwrk\] Topology: the section is not one of machine files; did you mean \[Network\]?$' \
  -- espalier 1 study time --machine machine.ini plummer.ini
machine; echo 'WalkRate = 1' >> machine.ini
check "a key given twice: a sentence" \
  says 1 'WalkRate: given before, in line [0-9]' -- espalier 1 study time --machine machine.ini plummer.ini
check "no file: a sentence" \
  says 1 'none.ini: expected a machine file' -- espalier 1 study time --machine none.ini plummer.ini
says 0 -- espalier 1 study time --machine fugaku --ranks 1 --scheme shared -o named.csv few.ini &&
  grep -q Fugaku named.csv
ok $? "a machine that comes with the program, by its name"
check "a name that is not known: a sentence with the names" \
  says 1 'fukagu: expected a machine file or the name of one: .*cpu-node, .*fugaku, .*slingshot' \
  -- espalier 1 study time --machine fukagu few.ini
check "no machine: a sentence" says 2 'option --machine NAME is missing' -- espalier 1 study time plummer.ini

# the limit of what counts as a spread by other programs is lowered, so that there is one
ESPALIER_DEBUG=machine_spread=1
export ESPALIER_DEBUG
says 0 '^next: espalier study time --machine here.ini FILE.ini$' -- espalier 2 study machine -o here.ini
written=$?
unset ESPALIER_DEBUG
has err 'warning: soft steps of one kind took up to [0-9.]* times as long as others' &&
  has here.ini '^# soft steps of one kind took up to'
ok $? "where other programs ran: a warning, also in the file"
[ $written = 0 ] && espalier 1 study time --machine here.ini --ranks 2 --scheme hybrid plummer.ini
ok $? "study machine writes a file that study time reads"
check "which is not replaced" says 1 'here.ini: already exists' -- espalier 2 study machine -o here.ini
# where other programs run a rate may be lost in the noise: then once more, and again
for attempt in 2 3; do
  lacks here.ini '= 1e+1[78]$' && break
  echo "# attempt $attempt"
  rm -f here.ini
  espalier 2 study machine -o here.ini
done
check "without rates that were not seen" lacks here.ini '= 1e+1[78]$'
has here.ini '^WalkRate = ' && has here.ini '^# hybrid,2,\(16384\|2097152\),' && lacks here.ini 'nan\|inf'
ok $? "with the soft steps that were measured"
espalier 2 study machine -o other.ini -P Gravity:MultipoleOrder=3 plummer.ini
test $? != 0 && has err 'MultipoleOrder'
ok $? "study machine with a parameter that is wrong: a sentence"
check "-P without a parameter file: a sentence" \
  says 2 'give FILE.ini too' -- espalier 2 study machine -o other.ini -P Gravity:MultipoleOrder=2
check "study machine on one rank: a sentence" says 1 'start it on at least 2' -- espalier 1 study machine
finish
