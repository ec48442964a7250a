#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Mode = auto and Scheme = auto: what is chosen and said, the same choice again, on several ranks and after a restart, and small systems.
. "${srcdir:-.}/tests/restart_common.sh"
shown="$dir/said"
model 2000
sed -i -e 's/^Mode = .*/Mode = auto/' -e 's/^Scheme = .*/Scheme = auto/' -e '/^SoftStep/d' -e '/^TimeBetSnapshot/d' "$dir/run.ini"
printf '[Accuracy]\nRepeatable = on\n' >> "$dir/run.ini"
table() { sed '/^#/d' "$dir/$1/out/choice.csv"; }
# chosen NAME: the candidates that were chosen, one after the other
chosen() { table "$1" | awk -F, 'NR > 1 && $10 == 1 { print $3 $4 }'; }
# decisions NAME: rows without predicted and measured seconds
decisions() { table "$1" | cut -d , -f 1-7,10; }
# changes NAME: when which candidate was used from then on
changes() { table "$1" | awk -F, 'NR > 1 && $10 == 1 { print $1, $3 $4 }'; }

go one 1
cp "$dir/one/log" "$dir/said"
[ $status = 0 ] && grep -A 1 '^scheme: .* s per unit of time (predicted)$' "$dir/one/log" | grep -q '^        predicted: .*shared steps: [0-9]'
ok $? "two lines say the scheme and what others would cost"
table one | awk -F, 'NR == 1 { bad += $0 != "step,time,candidate,R1OverR0,error,dt_soft,eta,seconds_predicted,seconds_measured,chosen,reason,seconds_choosing"; next }
  { bad += $1 != 0 || !($6 > 0) || !($8 > 0) || $9 != "" || $11 != "model" || $12 != ""; chosen += $10 } END { exit bad || chosen != 1 || NR < 4 }'
ok $? "choice.csv has a row for each candidate"
go again 1
[ $status = 0 ] && same one again && cmp "$dir/one/out/choice.csv" "$dir/again/out/choice.csv"
ok $? "Repeatable = on: the same bits again"
OMP_NUM_THREADS=2 go threads 1
[ "$(decisions one)" = "$(decisions threads)" ]
ok $? "the choice does not depend on the number of threads"
for ranks in 2 3; do
  go ranks$ranks $ranks
  [ $status = 0 ] && [ "$(chosen one)" = "$(chosen ranks$ranks)" ]
  ok $? "the same choice on $ranks ranks"
done

# the restart has the scheme from the checkpoint
go parts 1 -n 1
go parts 1 --restart
[ $status = 0 ] && same one parts && cmp "$dir/one/out/choice.csv" "$dir/parts/out/choice.csv"
ok $? "a restart keeps the scheme: the same bits"
go elsewhere 1 -n 1
go elsewhere 1 --restart=out/checkpoints/checkpoint_000001 -P Output:OutputDir=there
grep -q '^scheme: ' "$dir/elsewhere/log" && grep -q '^# Scheme at this start: [bhs]' "$dir/elsewhere/there/parameters-used.ini" &&
  grep -q '^Mode = auto' "$dir/elsewhere/there/parameters-used.ini" && grep -q '^Scheme = auto' "$dir/elsewhere/there/parameters-used.ini"
ok $? "... and says it, also in another folder; parameters-used.ini has what was given"
go refused 1 -n 1
case $(chosen one) in hybrid*) other=tree ;; *) other=hybrid ;; esac
go refused 1 --restart -P Split:Mode=$other
[ $status = 1 ] && grep -q "Mode = $other, but the checkpoint was made with" "$dir/refused/err"
ok $? "another Mode at a restart is refused"
(cd "$dir/refused" && $mpirun -n 1 "$here/espalier" run --check --restart ../run.ini > ../said 2>&1 < /dev/null) && grep -q '^checkpoint .* complete' "$dir/said"
ok $? "run --check --restart accepts the scheme that was chosen"

# trials: which one is the fastest depends on the machine; choices are made again from choice.csv
go trials 1 -n 12 -P Time:TimeMax=20000 -P Accuracy:Repeatable=off
[ $status = 0 ] && grep -q '; the first soft steps try [234]$' "$dir/trials/log" && grep -q '^at time .*: scheme: .* (measured)$' "$dir/trials/log" &&
  grep -q '^        measured: .*: [0-9]' "$dir/trials/log" &&
  table trials | awk -F, 'NR > 1 && $11 == "measured" { measured += $9 > 0; chosen += $10; bad += $10 && !($9 > 0) } $11 == "trial" { trials++ }
    NR > 1 { bad += !($12 > 0 && $12 >= last); last = $12 } END { exit bad || measured < 2 || chosen != 1 || trials < 1 }'
ok $? "trial steps: a decision by measured seconds, and what choosing takes"
for part in 1 2; do
  mkdir -p "$dir/repeat$part/out" && cp "$dir/trials/out/choice.csv" "$dir/repeat$part/out"
  go repeat$part 1 --overwrite -n $((part == 1 ? 12 : 3)) -P Time:TimeMax=20000
done
cp "$dir/repeat1/log" "$dir/said"
changes trials > "$dir/changes"
energies() { sed '/^#/d' "$dir/$1/out/energy.csv"; }
energies trials > "$dir/energies"
[ $status = 0 ] && changes repeat1 | cmp - "$dir/changes" && grep -q '^scheme: .*, that of choice.csv of the earlier run$' "$dir/repeat1/log" &&
  [ "$(wc -l < "$dir/changes")" -gt 2 ] && energies repeat1 | cmp - "$dir/energies"
ok $? "Repeatable = on makes the choices of an earlier run again, with its energies to all digits"
go repeat2 1 --restart -n 12 -P Time:TimeMax=20000
cp "$dir/repeat2/err" "$dir/said"
[ $status = 0 ] && changes repeat2 | cmp - "$dir/changes" && same repeat1 repeat2
ok $? "... also after a restart between two of them: the same bits"
printf 'step,candidate,R1OverR0,chosen,reason\n0,shared,,1,model\n' > "$dir/trials/out/choice.csv"
go trials 1 --overwrite -n 2 -P Steps:Scheme=block
cp "$dir/trials/err" "$dir/said"
[ $status = 1 ] && grep -q "choice.csv, line 2: the parameters do not allow the choice 'shared'" "$dir/trials/err"
ok $? "... unless the parameters exclude them, in a sentence"
printf 'step,candidate,R1OverR0,chosen,reason\n3,block,,1,look\n1,block,,1,look\n' > "$dir/trials/out/choice.csv"
go trials 1 --overwrite -n 2
[ $status = 1 ] && grep -q "choice.csv, line 3: expected a soft step that is not before the last one, found '1'" "$dir/trials/err"
ok $? "a damaged choice.csv: a sentence"
{ echo 'step,candidate,R1OverR0,chosen,reason'; k=0; while [ $k -lt 300 ]; do echo "$k,shared,,1,look"; k=$((k + 1)); done; } > "$dir/trials/out/choice.csv"
(cd "$dir/trials" && $mpirun -n 1 "$here/espalier" run --check --overwrite ../run.ini > ../said 2>&1 < /dev/null) && grep -q '^  shared steps *(chosen)' "$dir/said"
ok $? "run --check repeats the choice too"
go trials 1 --overwrite -n 2
cp "$dir/trials/err" "$dir/said"
[ $status = 0 ] && [ "$(chosen trials)" = shared ]
ok $? "three hundred looks that changed nothing are one choice"
go broken 2 -n 3 -P Time:TimeMax=20000 -P Accuracy:Repeatable=off
go broken 2 --restart -n 14 -P Time:TimeMax=20000 -P Accuracy:Repeatable=off
[ $status = 0 ] && table broken | awk -F, 'NR > 1 && $11 == "measured" { measured += $9 > 0; chosen += $10 } END { exit measured < 2 || chosen != 1 }'
ok $? "which go on after a restart, on two ranks"

(cd "$dir/one" && $mpirun -n 1 "$here/espalier" run --check --overwrite ../run.ini > ../said 2>&1 < /dev/null) &&
  awk '/^  (shared|block|hybrid)/ { n++; chosen += /\(chosen\)/; bad += !($NF > 0 && $(NF - 1) > 0 && $(NF - 2) > 0 && $(NF - 3) > 0) }
    END { exit n < 3 || bad || chosen != 1 }' "$dir/said" && grep -q '^schemes, predicted' "$dir/said" && ! grep -q '.\{101\}' "$dir/said"
ok $? "run --check lists the candidates"

# few: WORDS RANKS PARTICLES-LINES: a run of these particles ends well
few() {
  printf '%b' "$3" > "$dir/few.txt"
  rm -rf "$dir/few"
  go few "$2" -P Input:InitCondFile=../few.txt
  cp "$dir/few/log" "$dir/said"
  [ $status = 0 ] && [ "$(chosen few | wc -l)" = 1 ] && ! grep -q -e nan -e inf "$dir/few/out/choice.csv"
  ok $? "$1 on $2 rank(s)"
}
few "one particle" 1 '0 0 0 1 0 0 1\n'
few "one particle at rest" 3 '0 0 0 0 0 0 1\n'
few "two particles" 3 '0 0 0 0 0 0 1\n1 0 0 0 1 0 0.5\n'
few "three particles at rest" 2 '0 0 0 0 0 0 1\n1 0 0 0 0 0 0.5\n0 1 0 0 0 0 0.5\n'
few "particles at one place" 1 '1 1 1 0 0 0 1\n1 1 1 0 0 0 1\n1 1 1 0 0 0 1\n'

# what is given restricts the candidates
go given 1 -P Split:Mode=tree
[ $status = 0 ] && [ "$(table given | cut -d , -f 3 | sort -u | tr '\n' ' ')" = "block candidate shared " ]
ok $? "Mode = tree: shared or block steps"
go block 1 -P Steps:Scheme=block
[ $status = 0 ] && ! table block | grep -q shared
ok $? "Scheme = block"
go point 1 -P Gravity:Softening=0
[ $status = 1 ] && grep -q 'Softening = 0 .*: expected Integrator = hermite or Criterion = pairs' "$dir/point/err"
ok $? "Softening = 0 needs the Hermite scheme or steps by pairs"
go hermite 1 -n 2 -P Gravity:Softening=0 -P Steps:Integrator=hermite
[ $status = 0 ] && [ ! -e "$dir/hermite/out/choice.csv" ] && grep -q '; hybrid from' "$dir/hermite/log"
ok $? "which are hybrid, and nothing is chosen"
# what a restart asks for must agree with the scheme that was chosen
go kept 1 -n 1
case $(chosen kept) in hybrid*) other=Steps:FixedStep=0.001 ;; *) other=Split:SoftStep=0.001 ;; esac
go kept 1 --restart -P $other
cp "$dir/kept/err" "$dir/said"
[ $status = 1 ] && grep -q 'the parameters need .* and the checkpoint was made with .*, which the run had chosen' "$dir/kept/err"
ok $? "a restart with $other, which excludes the chosen scheme"
go kept 1 --restart -P Accuracy:Accuracy=fine
cp "$dir/kept/log" "$dir/said"
[ $status = 0 ] && ! grep -q nan "$dir/kept/out/choice.csv"
ok $? "a restart with another Accuracy"
echo "1..$number"
exit $failed
