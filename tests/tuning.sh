#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs that tune themselves: what they log, that forces stay what they were within the criterion, that frozen means
# frozen.
. "${srcdir:-.}/tests/harness.sh"

model plummer -n 3000 -s 3
parameters run.ini Output:TunerLog=on Output:TimeBetStatistics=1e-9 Time:TimeMax=1.5 Time:MaxSizeTimestep=0.125 \
  Gravity:Softening=0.0139 Split:Mode=tree Steps:Scheme=block
# go NAME OPTION...: one rank, so that trees are rebuilt within soft steps
go() {
  name=$1 shown=$1.log
  shift
  launch 0 run -v -P "Output:OutputDir=$name" -P Device:Backend=cpu "$@" run.ini > "$name.log" 2>&1 ||
    { echo "# $name failed:" && tail -5 "$name.log" | sed 's/^/# /'; }
}
go tuned -P Device:Tuning=on
check "a run that tunes says so" has tuned.log "tuning by measured times"
awk -F, '!/^#/ && $3 == "rebuild" { n++; if ($4 == "due") due++; walked += $8 > 0;
  bad += !(($5 > 0 || $4 == "anyway") && $10 > 0); known += $11 != "" }
  END { print "# " n " builds, " due " of them within soft steps, " known " by a model"; exit !(n > 8 && due > 0 &&
    walked > n / 2 && known > 3 && !bad) }' tuned/tuner.csv
ok $? "tuner.csv: builds with age, seconds of walks and of the build, and the model they rest on"
# how good predictions are: tests/tuner; none where a set was walked whose cost was not known when the interval began,
# or nothing at all
awk -F, '!/^#/ && $3 == "rebuild" && $11 != "" { n++; bad += !($7 == "" && $9 == "" || $7 > 0 && $8 > 0 && $9 > 0);
  given += $7 != "" }
  END { print "# " n " intervals with a model, " given + 0 " predictions"; exit !(n > 3 && given > n / 2 &&
    !bad) }' tuned/tuner.csv
ok $? "tuner.csv: what a model predicted stands beside what came out"
awk -F, '!/^#/ && $3 == "group_width" { n++; seen[$5] = 1; bad += !($5 > 0 && $6 > 0 && $8 > 0) }
  END { for (v in seen) values++; print "# " n " judgements of " values " widths"; exit !(n > 8 && values > 1 &&
    !bad) }' tuned/tuner.csv
ok $? "tuner.csv: several widths of groups were tried"
awk -F, 'NF != 17 && !/^#/ { bad = 1 } END { exit bad }' tuned/tuner.csv
ok $? "all rows have all columns"
check "the run sums up what it found" has tuned.log "^tuning: best interval"
go frozen
go again -P Device:Tuning=frozen
test "$(grep -vc '^#' frozen/tuner.csv)" = 1 && lacks frozen.log "tuning"
ok $? "on a CPU nothing is tuned by default"
test "$(grep -c . frozen/energy.csv)" -gt 8 && cmp frozen/energy.csv again/energy.csv
ok $? "frozen: twice the same energies"
go fixed -P Device:Tuning=on -P Gravity:RebuildInterval=8 -P Gravity:MaxGroupWidth=2
go fixed2 -P Gravity:RebuildInterval=8 -P Gravity:MaxGroupWidth=2
test "$(grep -vc '^#' fixed/tuner.csv)" = 1 && cmp fixed/energy.csv fixed2/energy.csv
ok $? "numbers that are given are not tuned: twice the same energies"
cmp -s fixed/energy.csv frozen/energy.csv
test $? = 1
ok $? "and they count"
for other in tuned fixed; do
  awk -F, '/^#/ || /^time/ { next } FNR == NR { total[FNR] = $4; next }
    { d = $4 / total[FNR] - 1; d = d < 0 ? -d : d; if (d > worst) worst = d; n++ }
    END { print "# energies differ by at most " worst; exit !(n > 8 &&
      worst < 5e-4) }' frozen/energy.csv $other/energy.csv
  ok $? "$other: the energies of the frozen run within 5e-4"
done
go short -P Output:TunerLog=off -P Time:TimeMax=0.125 -P Device:Tuning=on
check "no table that was not asked for" test ! -e short/tuner.csv
for k in 1 2; do
  OMP_NUM_THREADS=1 espalier force --bench -P Device:Backend=cpu -P Device:Tuning=on -P Split:Mode=hybrid run.ini \
    > "force$k.log" 2>&1 &&
    grep -E '^(interactions |per particle)' "force$k.log" > "force$k"
done
test -s force1 && cmp force1 force2
ok $? "force tunes nothing: the same groups and lists twice"
OMP_NUM_THREADS=1 espalier force --bench -P Device:Backend=cpu -P Device:Tuning=frozen -P Split:Mode=hybrid run.ini \
  2>&1 |
  grep -E '^(interactions |per particle)' > force3
check "and they are those of frozen tuning" cmp force1 force3
finish
