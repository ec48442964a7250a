#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Mode = auto and Scheme = auto: what is chosen and said, the same choice again, on several ranks and after a restart,
# and small systems.
. "${srcdir:-.}/tests/harness.sh"
shown="said"
parts_model 2000
parameters run.ini $parts Split:Mode=auto Steps:Scheme=auto Split:SoftStep= Output:TimeBetSnapshot= \
  Accuracy:Repeatable=on
choices() { rows "$1/out/choice.csv"; }
# chosen NAME: the candidates that were chosen, one after the other
chosen() { choices "$1" | awk -F, 'NR > 1 && $10 == 1 { print $3 $4 }'; }
# decisions NAME: rows without predicted and measured seconds
decisions() { choices "$1" | cut -d , -f 1-7,10; }
# changes NAME: when which candidate was used from then on
changes() { choices "$1" | awk -F, 'NR > 1 && $10 == 1 { print $1, $3 $4 }'; }

go one 1
cp one/log said
ends 0 && grep -A 1 '^scheme: .* s per unit of time (predicted)$' one/log |
  grep -q '^        predicted: .*shared steps: [0-9]'
ok $? "two lines say the scheme and what others would cost"
choices one |
  awk -F, 'NR == 1 {
    bad += $0 != "step,time,candidate,R1OverR0,error,dt_soft,eta,seconds_predicted,seconds_measured,chosen,reason," \
      "seconds_choosing"; next }
  { bad += $1 != 0 || !($6 > 0) || !($8 > 0) || $9 != "" || $11 != "model" || $12 != ""; chosen += $10 } END {
    exit bad || chosen != 1 || NR < 4 }'
ok $? "choice.csv has a row for each candidate"
go again 1
ends 0 && same one again && cmp one/out/choice.csv again/out/choice.csv
ok $? "Repeatable = on: the same bits again"
OMP_NUM_THREADS=2 go threads 1
check "the choice does not depend on the number of threads" test "$(decisions one)" = "$(decisions threads)"
for ranks in 2 3; do
  go ranks$ranks $ranks
  ends 0 && [ "$(chosen one)" = "$(chosen ranks$ranks)" ]
  ok $? "the same choice on $ranks ranks"
done

# the restart has the scheme from the checkpoint
go parts 1 -n 1
go parts 1 --restart
ends 0 && same one parts && cmp one/out/choice.csv parts/out/choice.csv
ok $? "a restart keeps the scheme: the same bits"
go elsewhere 1 -n 1
go elsewhere 1 --restart=out/checkpoints/checkpoint_000001 -P Output:OutputDir=there
has elsewhere/log '^scheme: ' && has elsewhere/there/parameters-used.ini '^# Scheme at this start: [bhs]' &&
  has elsewhere/there/parameters-used.ini '^Mode = auto' && has elsewhere/there/parameters-used.ini '^Scheme = auto'
ok $? "... and says it, also in another folder; parameters-used.ini has what was given"
go refused 1 -n 1
case $(chosen one) in hybrid*) other=tree ;; *) other=hybrid ;; esac
go refused 1 --restart -P Split:Mode=$other
check "another Mode at a restart is refused" ends 1 "Mode = $other, but the checkpoint was made with"
(cd refused && launch 1 run --check --restart ../run.ini) > said 2>\&1 && has said '^checkpoint .* complete'
ok $? "run --check --restart accepts the scheme that was chosen"

# trials: which one is the fastest depends on the machine; choices are made again from choice.csv
go trials 1 -n 12 -P Time:TimeMax=20000 -P Accuracy:Repeatable=off
ends 0 && has trials/log '; the first soft steps try [234] schemes$' &&
  has trials/log '^at time .*: scheme: .* (measured)$' &&
  has trials/log '^        measured: .*: [0-9]' &&
  choices trials | awk -F, 'NR > 1 && $11 == "measured" { measured += $9 > 0; chosen += $10; bad += $10 && !($9 > 0) }
    $11 == "trial" { trials++ }
    NR > 1 { bad += !($12 > 0 && $12 >= last); last = $12 } END { exit bad || measured < 2 || chosen != 1 ||
      trials < 1 }'
ok $? "trial steps: a decision by measured seconds, and what choosing takes"
for part in 1 2; do
  mkdir -p "repeat$part/out" && cp trials/out/choice.csv "repeat$part/out"
  go repeat$part 1 --overwrite -n $((part == 1 ? 12 : 3)) -P Time:TimeMax=20000
done
cp repeat1/log said
changes trials > changes
energies() { rows "$1/out/energy.csv"; }
energies trials > energies
ends 0 && changes repeat1 | cmp - changes && has repeat1/log '^scheme: .*, that of choice.csv of the earlier run$' &&
  [ "$(wc -l < changes)" -gt 2 ] && energies repeat1 | cmp - energies
ok $? "Repeatable = on makes the choices of an earlier run again, with its energies to all digits"
go repeat2 1 --restart -n 12 -P Time:TimeMax=20000
cp repeat2/err said
ends 0 && changes repeat2 | cmp - changes && same repeat1 repeat2
ok $? "... also after a restart between two of them: the same bits"
printf 'step,candidate,R1OverR0,chosen,reason\n0,shared,,1,model\n' > trials/out/choice.csv
go trials 1 --overwrite -n 2 -P Steps:Scheme=block
cp trials/err said
ends 1 "choice.csv, line 2: the parameters do not allow the choice 'shared'"
ok $? "... unless the parameters exclude them, in a sentence"
printf 'step,candidate,R1OverR0,chosen,reason\n3,block,,1,look\n1,block,,1,look\n' > trials/out/choice.csv
go trials 1 --overwrite -n 2
ends 1 "choice.csv, line 3: expected a soft step that is not before the last one, found '1'"
ok $? "a damaged choice.csv: a sentence"
{ echo 'step,candidate,R1OverR0,chosen,reason'; k=0; while [ $k -lt 300 ]; do echo "$k,shared,,1,look"; k=$((k + 1)); \
  done; } > trials/out/choice.csv
(cd trials && launch 1 run --check --overwrite ../run.ini) > said 2>\&1 && has said '^  shared steps *(chosen)'
ok $? "run --check repeats the choice too"
go trials 1 --overwrite -n 2
cp trials/err said
ends 0 && [ "$(chosen trials)" = shared ]
ok $? "three hundred looks that changed nothing are one choice"
go broken 2 -n 3 -P Time:TimeMax=20000 -P Accuracy:Repeatable=off
go broken 2 --restart -n 14 -P Time:TimeMax=20000 -P Accuracy:Repeatable=off
ends 0 && choices broken |
  awk -F, 'NR > 1 && $11 == "measured" { measured += $9 > 0; chosen += $10 } END { exit measured < 2 || chosen != 1 }'
ok $? "which go on after a restart, on two ranks"

(cd one && launch 1 run --check --overwrite ../run.ini) > said 2>\&1 &&
  awk '/^  (shared|block|hybrid)/ { n++; chosen += /\(chosen\)/;
    bad += !($NF > 0 && $(NF - 1) > 0 && $(NF - 2) > 0 && $(NF - 3) > 0) }
    END { exit n < 3 || bad || chosen != 1 }' said && has said '^schemes, predicted' && lacks said '.\{101\}'
ok $? "run --check lists the candidates"

# few: WORDS RANKS PARTICLES-LINES: a run of these particles ends well
few() {
  printf '%b' "$3" > few.txt
  rm -rf few
  go few "$2" -P Input:InitCondFile=../few.txt
  cp few/log said
  ends 0 && [ "$(chosen few | wc -l)" = 1 ] && ! grep -q -e nan -e inf few/out/choice.csv
  ok $? "$1 on $2 rank(s)"
}
few "one particle" 1 '0 0 0 1 0 0 1\n'
few "one particle at rest" 3 '0 0 0 0 0 0 1\n'
few "two particles" 3 '0 0 0 0 0 0 1\n1 0 0 0 1 0 0.5\n'
few "three particles at rest" 2 '0 0 0 0 0 0 1\n1 0 0 0 0 0 0.5\n0 1 0 0 0 0 0.5\n'
few "particles at one place" 1 '1 1 1 0 0 0 1\n1 1 1 0 0 0 1\n1 1 1 0 0 0 1\n'

# steps by acceleration have a model of their own: the cheapest candidate that has the wanted error
go steps-a 1 --check -P Steps:Criterion=a -P Gravity:Softening=0.002 -P Accuracy:Accuracy=standard
awk '/^schemes/ { on = 1 } /^energy error/ { on = 0 } on && /^  (shared|block)/ {
    bad += $(NF - 2) > 3.1e-5; cost[$1] = $(NF - 1); if (/chosen/) chosen = $1 }
  END { printf "# shared steps %g, block steps %g, chosen %s\n", cost["shared"], cost["block"], chosen
    exit bad || !(cost["block"] < cost["shared"]) || chosen == "shared" }' steps-a/log
ok $? "Criterion = a: costs are compared at the wanted error, and the cheapest is chosen"
# two bodies of e = 0.999: block steps are cheap, and would not have the wanted error
awk 'BEGIN { v = sqrt(0.001 / 1.999) / 2
  print -0.9995, 0, 0, 0, -v, 0, 0.5; print 0.9995, 0, 0, 0, v, 0, 0.5 }' > few.txt
go eccentric 1 -n 1 -P Input:InitCondFile=../few.txt -P Gravity:Softening=1e-4
ends 0 && has eccentric/log '^scheme: shared steps' &&
  has eccentric/log '^        predicted: block steps: [0-9.e+-]* (|dE/E| [0-9.]*e-0[23] > 3.0e-05)'
ok $? "a cheaper scheme that was not chosen: the log says why"

# what is given restricts the candidates
go given 1 -P Split:Mode=tree
ends 0 && [ "$(choices given | cut -d , -f 3 | sort -u | tr '\n' ' ')" = "block candidate shared " ]
ok $? "Mode = tree: shared or block steps"
go block 1 -P Steps:Scheme=block
ends 0 && ! choices block | grep -q shared
ok $? "Scheme = block"
refused 'Softening = 0 (-P) and Integrator = leapfrog (-P): expected Integrator = hermite or Criterion = pairs' \
  -P Gravity:Softening=0 -P Steps:Integrator=leapfrog
refused 'Softening = 0 (-P) and Mode = tree (-P): expected' -P Gravity:Softening=0 -P Split:Mode=tree
refused 'Softening = 0 (-P) and Scheme = shared (-P): expected' -P Gravity:Softening=0 -P Steps:Scheme=shared
for criterion in a min-av; do
  refused "Softening = 0 (-P) and Criterion = $criterion (-P): expected" \
    -P Gravity:Softening=0 -P Steps:Criterion=$criterion
done
refused 'Softening = 0 (-P) and SofteningType1 = 0.1 (-P): expected' \
  -P Gravity:Softening=0 -P Gravity:SofteningType1=0.1
refused 'EnergyError = 1e-05 (-P) and Criterion = pairs (-P): expected Integrator = hermite' \
  -P Split:EnergyError=1e-5 -P Steps:Criterion=pairs
refused 'EnergyError = 1e-05 (-P) and FixedStep = 0.01 (-P): expected Integrator = hermite' \
  -P Split:EnergyError=1e-5 -P Steps:FixedStep=0.01
go pairs 1 -n 1 -P Gravity:Softening=0 -P Steps:Criterion=pairs
ends 0 && lacks pairs/log 'chosen: Integrator'
ok $? "Criterion = pairs without a softening: the leapfrog stays"
go softless 1 -n 2 -P Gravity:Softening=0
ends 0 && has softless/log '^chosen: Integrator = hermite, as Softening = 0: ' && has softless/log '; hybrid from' &&
  has softless/out/parameters-used.ini '^Integrator = hermite'
ok $? "Softening = 0 without Integrator: hermite is chosen, and said"
go softless 1 -n 3 -r -P Gravity:Softening=0
ends 0
ok $? "... and by the restart too"
check "... and by --check, which names Eta" \
  says 0 '^chosen *Integrator = hermite, as Softening = 0: .*; Eta = 0.1 is the factor' -- \
  launch 1 run --check -P Gravity:Softening=0 -P Steps:Eta=0.1 -P Output:OutputDir=nothing \
  -P Input:InitCondFile=ic.hdf5 run.ini
go energy 1 -n 2 -P Split:EnergyError=1e-4
ends 0 && has energy/log '^chosen: Integrator = hermite, as EnergyError = 0.0001 ' &&
  has energy/log '^EnergyError = 0.0001: R1 = '
ok $? "EnergyError without Integrator: hermite is chosen, and said"
go hermite 1 -n 2 -P Gravity:Softening=0 -P Steps:Integrator=hermite
ends 0 && [ ! -e hermite/out/choice.csv ] && has hermite/log '; hybrid from'
ok $? "which are hybrid, and nothing is chosen"
# what a restart asks for must agree with the scheme that was chosen
go kept 1 -n 1
case $(chosen kept) in hybrid*) other=Steps:FixedStep=0.001 ;; *) other=Split:SoftStep=0.001 ;; esac
go kept 1 --restart -P $other
cp kept/err said
ends 1 'the parameters need .* and the checkpoint was made with .*, which the run had chosen'
ok $? "a restart with $other, which excludes the chosen scheme"
go kept 1 --restart -P Accuracy:Accuracy=fine
cp kept/log said
ends 0 && ! grep -q nan kept/out/choice.csv
ok $? "a restart with another Accuracy"
finish
