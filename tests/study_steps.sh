#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier study let counts a soft step: against comm.csv of runs on 2 and 4 ranks in three schemes; pairs of ranks.
. "${srcdir:-.}/tests/harness.sh"
# espalier RANKS ARGUMENT...: with so many processes
espalier() { limit=120 try launch "$@"; }
# soft steps of the same length in the study and in the run: no output shortens them; LETs have the form of the CPU
# backend
for model in plummer hernquist; do
  model $model -n 3000 -s 3 -o $model.hdf5
  parameters $model.ini Input:InitCondFile=$model.hdf5 Output:OutputDir=run Time:TimeMax=1 Time:MaxSizeTimestep=0.0625 \
    Device:Backend=cpu Gravity:Softening=0.01 Split:SoftStep=0.0625
done

# agrees SCHEME RANKS: messages and bytes of the steps 2 and 3 in comm.csv and those of the study differ by at most 10
# %, of all phases together and of LETs alone
agrees() {
  table 'function far(x, y) { return !(y > 0) || x > 1.1 * y || x < 0.9 * y }
    FNR == NR { if ($1 == "'"$1"'" && $at["ranks"] == '"$2"') { rows++; messages = $at["step_messages"];
      bytes = $at["step_bytes"]
      lets = bytes - $at["step_migration_bytes"] } next }
    ($1 == 2 || $1 == 3) && $at["phase"] ~ /^(domain|let_select|hard_let)$/ { m += $at["messages"] / 2;
      b += $at["bytes"] / 2
      if ($at["phase"] != "domain") l += $at["bytes"] / 2 }
    END { print "messages", messages, m, "bytes", bytes, b, "of LETs", lets, l
      exit rows != 1 || far(messages, m) || far(bytes, b) || far(lets, l) }' \
    table.csv run/comm.csv > compared
}
for n in 2 4; do
  for model in plummer hernquist; do
    rm -f table.csv
    espalier 1 study let --ranks $n --scheme shared,block,hybrid -o table.csv $model.ini
    ok $? "$model, $n virtual ranks: three schemes"
    for scheme in shared block hybrid; do
      case $scheme in
        hybrid) set -- -P Split:Mode=hybrid -P Steps:Scheme=block ;;
        *) set -- -P Split:Mode=tree -P Steps:Scheme=$scheme ;;
      esac
      espalier $n run --overwrite -n 3 "$@" $model.ini && agrees $scheme $n
      ok $? "$model, $scheme, $n ranks: messages and bytes of a soft step, study and run: $(cat compared)"
    done
  done
done

# LET summaries in stages, in both
export ESPALIER_DEBUG=let_stages=2
rm -f table.csv
espalier 1 study let --ranks 4 --scheme hybrid -o table.csv plummer.ini &&
  espalier 4 run --overwrite -n 3 -P Split:Mode=hybrid -P Steps:Scheme=block plummer.ini &&
  agrees hybrid 4 && awk -F, '/^#/ { next } $1 == "scheme" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { exit !($(at["step_soft_summaries_messages"]) > 0 && $(at["step_hard_summaries_messages"]) > 0) }' table.csv
ok $? "plummer, hybrid, 4 ranks, summaries in stages: messages and bytes of a soft step, study and run: $(cat compared)"

espalier 2 study let --ranks 3,8 --scheme hybrid --domains -o domains.csv --pairs pairs.csv plummer.ini
unset ESPALIER_DEBUG
awk -F, '/^#/ { next } $1 == "scheme" { for (i = 1; i <= NF; i++) at[$i] = i; next }
  FNR == NR { for (name in at) if (name ~ /^step_/) { split(name, word, "_");
    phase = word[2] == "migration" ? "domain" : word[2] == "soft" ? "let_select" : "hard_let"; what = name;
    sub(/.*_/, "", what)
    sum[$(at["ranks"]) " " phase " " $(at["domain"]) " " what] += $(at[name]) } next }
  { key = $(at["ranks"]) " " $(at["phase"]) " " $(at["rank"]); sum[key " messages"] -= $(at["messages"]);
    sum[key " bytes"] -= $(at["bytes"])
    if ($(at["rank"]) == $(at["peer"])) bad = 1; n++ }
  END { for (k in sum) if (sum[k] != 0) { print "#", k, sum[k]; bad = 1 } exit bad ||
    n < 40 }' domains.csv pairs.csv > log
ok $? "the pairs of ranks add up to what each domain sends, by phase"

# the form of a device: nodes with second moments, no cells spared, and for hybrids one selection of LETs in a soft step
rm -f table.csv
espalier 1 study let --device gpu --ranks 2 --scheme shared,hybrid -P Gravity:MultipoleOrder=1 \
  -o table.csv plummer.ini && mv table.csv device.csv &&
  espalier 1 study let --device cpu --ranks 2 --scheme shared,hybrid -P Gravity:MultipoleOrder=1 \
  -o table.csv plummer.ini && awk -F, '/^#/ { next } $1 == "scheme" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { of = FNR == NR; soft[$1, of] = $(at["step_soft_bytes"]); again[$1, of] = $(at["step_again_bytes"]) }
    function form(s) { return soft[s, 1] > 1.2 * soft[s, 0] && soft[s, 1] < 1.45 * soft[s, 0] }
    END { exit !(form("shared") && form("hybrid") && again["hybrid", 1] == 0 &&
      again["hybrid", 0] > 0) }' device.csv table.csv
ok $? \
  "LETs in the form of a device: monopole cells, 1.2 to 1.45 times the bytes; those of a hybrid are not selected again"
rm -f table.csv
says 0 'LET summaries of up to 1600 bytes' \
  -- espalier 1 study let --device gpu --ranks 2 --scheme shared,hybrid -o table.csv plummer.ini &&
  awk -F, '/^#/ { next } $1 == "scheme" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { $(at["seconds"]) = ""; row[FNR == NR, $1] = $0 }
    END { exit !(row[0, "shared"] != "" && row[0, "shared"] == row[1, "shared"] &&
      row[0, "hybrid"] == row[1, "hybrid"]) }' device.csv table.csv
ok $? "by itself a device has monopole cells; its LET summaries have second moments"
check "an unknown device: a sentence" \
  says 2 "option --device: expected cpu or gpu, found 'cuda'" \
  -- espalier 1 study let --ranks 2 --device cuda plummer.ini

rm -f table.csv
says 1 "error: --r1 sets the rule's R1OverR0, which does nothing with Mode = tree" -- espalier 1 study let --ranks 2 \
  --scheme hybrid,shared --r1 0.5 -o table.csv plummer.ini && lacks said 'scheme hybrid' && test ! -e table.csv
ok $? "radii for a scheme without the split: a sentence, before anything is counted"
check "an unknown scheme: a sentence" \
  says 2 "option --scheme: expected shared, block or hybrid" \
  -- espalier 1 study let --ranks 2 --scheme hybrid,fast plummer.ini
finish
