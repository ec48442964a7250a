#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The communicator on other numbers of ranks, many more than cores too; comm.csv of a run against steps.csv and itself.
. "${srcdir:-.}/tests/harness.sh"
for n in 1 2 7 33; do on $n 10 comm; done

model plummer -n 600
parameters run.ini Output:OutputDir=run Time:TimeMax=0.125 Gravity:Softening=0.03 Split:SoftStep=0.03125 $hybrid
run() {
  n=$1
  shift
  try launch "$n" run -v --overwrite "$@" run.ini
}
comm=run/comm.csv steps=run/steps.csv
run 3 -P Output:CommLog=peers
ok $? "a run on three ranks with CommLog = peers: $(grep -o '^messages: .* between ranks' said)"
# let_bytes: the bytes of both LET phases are let_bytes of steps.csv, in every step; messages have at most $1 bytes
let_bytes() {
  table 'FILENAME ~ /steps/ { expected[$at["step"]] = $at["let_bytes"]; next }
    $at["rank"] == -1 && $at["phase"] ~ /let/ { sum[$1] += $at["bytes"] }
    $at["rank"] >= 0 && $at["bytes"] > '"$1"' * $at["messages"] { bad = 1 }
    END { for (s in expected) { n++; if (sum[s] != expected[s]) { print "# step", s, sum[s], expected[s]; bad = 1 } }
      exit bad || n != 4 }' "$steps" "$comm"
}
check "the bytes of both LET phases are let_bytes of steps.csv, in every step" let_bytes 1e99
table '{ key = $(at["step"]) " " $(at["phase"]) }
  $(at["rank"]) == -1 { messages[key] = $(at["messages"]); bytes[key] = $(at["bytes"]);
    most[key] = $(at["bytes_largest_rank"]); wait[key] = 3 * $(at["wait_mean"]); next }
  { m[key] += $(at["messages"]); b[key] += $(at["bytes"]); w[key] += $(at["wait_mean"]);
    r[key " " $(at["rank"])] += $(at["bytes"]); n++ }
  END { for (k in m) if (!(k in messages)) { print "# no row of the phase:", k; bad = 1 }
    for (k in messages) { x = 0; for (i = 0; i < 3; i++) if (r[k " " i] > x) x = r[k " " i]
      d = w[k] - wait[k]
      if (m[k] + 0 != messages[k] || b[k] + 0 != bytes[k] || x != most[k] || d > 2e-5 || d < -2e-5) {
        print "#", k, m[k], messages[k], b[k], bytes[k], x, most[k], d; bad = 1 } }
    exit bad || n < 24 }' "$comm"
ok $? "the pairs of ranks add up to the phases"
table '{ if (NF != 22 || $at["rank"] >= 3 || $at["rank"] == $at["peer"] && $at["rank"] != -1) bad = 1 }
  END { exit bad || NR < 20 }' "$comm"
ok $? "rows are complete"
# efficiencies: the soft step has a row of its own, without messages, whose factors are above 0 and at most 1 and have
# their product; what is not useful in it is at least the waits of the phases, and in all soft steps not much more;
# other rows have no factors; the last lines have those of the run
efficiencies() {
  table '$at["phase"] != "step" { if ($at["rank"] == -1) waited[$1] += $at["wait_mean"] + $at["collective_wait_mean"]
      if ($at["seconds"] || $at["load_balance"] || $at["communication_efficiency"] || $at["parallel_efficiency"])
        bad = 1
      steps[$1]; next }
    { l = $at["load_balance"]; c = $at["communication_efficiency"]; p = $at["parallel_efficiency"]; s = $at["seconds"]
      d = p - l * c; w = waited[$1]; lost = s * (1 - p); n++; all += s; more += lost - w
      if (!(s > 0) || !(l > 0) || l > 1 || !(c > 0) || c > 1 || !(p > 0) || p > 1 || d > 2e-6 || d < -2e-6 ||
        lost < w - 2e-5 || $at["messages"] || $at["bytes"] || $at["wait_mean"] || $at["rank"] != -1 || $1 == 0) {
        print "# step", $0, d, w; bad = 1 } }
    END { if (bad || n != 4 || length(steps) != 5 || more > 0.3 * all) { print "#", n, more, all; exit 1 } }' "$comm" &&
    awk '/^parallel efficiency of the soft steps/ { n++; p = $7; l = $11; c = $15 + 0; d = p - l * c
        good = p > 0 && l > 0 && l <= 1 && c > 0 && c <= 1 && d < 2e-3 && d > -2e-3 && getline == 1 &&
          (p > 0.988 || /^  the lowest factor is /) && (l < c + 2e-3 || !/load balance/) &&
          (c < l + 2e-3 || !/communication efficiency/) && (p < 0.992 || /^  no factor is low: /) }
      END { exit !(good && n == 1) }' said
}
check "three ranks: efficiencies of soft steps, and of the run in its last lines" efficiencies
# unexplained PAGE: tables of the run whose rows have another number of values than names, and columns that the page
# does not name; it has numbers at the end of names as T and K
unexplained() {
  for file in run/*.csv; do
    rows "$file" | awk -F, 'NR == 1 { names = NF } NF != names { bad = 1 } END { exit bad || NR < 2 }' ||
      echo "$file: rows and header"
    for name in $(rows "$file" | head -n 1 | tr , ' '); do
      of_many=$(echo "$name" | sed -E 's/_[0-9]+$/_[TK]/')
      grep -q -w -e "$name" -e "$of_many" "$1" || echo "$file: $name"
    done
  done
}
unexplained "$src/doc/file-formats.md" > said
[ ! -s said ]
ok $? "doc/file-formats.md explains all columns of all tables"
sed 's/energy_noise//; s/level_K//' "$src/doc/file-formats.md" > page
unexplained page > said
[ "$(sort -u said | head -n 2 | tr '\n' ' ')" = "run/energy.csv: energy_noise run/steps.csv: level_0 " ]
ok $? "a column that the page does not name is found"

run 3 && table '$at["rank"] != -1 { bad = 1 } { n++ } END { exit bad || n < 20 }' "$comm"
ok $? "CommLog = phases by itself: no pairs"
run 3 -P Output:CommLog=off && [ ! -e "$comm" ] && [ -e "$steps" ] &&
  has said '^parallel efficiency of the soft steps 0'
ok $? "CommLog = off: no table, and the earlier run's is gone, but efficiencies in the last lines"
run 2
check "two ranks: efficiencies" efficiencies
run 1 && [ ! -e "$comm" ] && lacks said '^messages' && lacks said efficiency
ok $? "one rank: no table"
: > "$comm"
rm -r "$steps" run/checkpoints run/energy.csv run/timers.csv run/parameters-used.ini run/*.hdf5
check "a folder with an earlier run's comm.csv is refused" says 1 'comm.csv exists' -- launch 3 run run.ini
ESPALIER_LARGEST_MESSAGE=5000 run 3 -P Output:CommLog=peers
check "messages cut to 5000 bytes: the same sums, more pieces" let_bytes 5000
finish
