#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Recordings of runs on 1, 2, 3, 4 and 7 ranks (CommTrace = on) against comm.csv; traces of them and of virtual ranks
# for SimGrid and LogGOPSim, whose messages must all have two ends; a restart; bad command lines and files.
. "${srcdir:-.}/tests/harness.sh"
model plummer -n 600
parameters run.ini Output:OutputDir=run Output:CommTrace=on Time:TimeMax=0.125 Gravity:Softening=0.03 \
  Split:SoftStep=0.03125 $hybrid
start() { limit=300 try launch "$@"; }   # RANKS ARGUMENT...

# Messages and collectives by soft step and phase. A sum that does not wait (hard_let) is in comm.csv when it begins, in
# a recording when it ends.
same_as_comm() {
  awk -F, '/^#/ || /^espalier/ { next }
    $1 == "step" || $1 == "seq" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    FILENAME ~ /comm.csv/ { if ($(at["rank"]) == -1) { m[$1 "," $3] = $(at["messages"]); b[$1 "," $3] = $(at["bytes"]);
      c[$1 "," $3] = $(at["collectives"]) } next }
    { key = $(at["step"]) "," $(at["phase"]) }
    $(at["kind"]) == "send" { sent[key]++; bytes[key] += $(at["bytes"]); next }
    $(at["kind"]) != "receive" { together[key]++ }
    END { for (k in m) if (k ~ /^[1-4],/ && k !~ /other|diagnostics|output/) { n++
        if (m[k] + 0 != sent[k] + 0 || b[k] + 0 != bytes[k] + 0 || (k !~ /hard_let/ && c[k] + 0 != together[k] + 0)) {
          print "# step, phase", k, "comm.csv", m[k], b[k], c[k], "recorded", sent[k], bytes[k], together[k]; bad = 1 }
            }
      exit bad || n < 8 }' run/comm.csv run/trace_000000/rank_*.csv
}
# All messages of time-independent traces: as many irecv, isend and wait of each pair and tag.
ti_agrees() {
  awk '$2 == "isend" { n[$1 " " $3 " " $4]++; b[$1 " " $3 " " $4] += $5; some++ }
    $2 == "irecv" { n[$3 " " $1 " " $4]--; b[$3 " " $1 " " $4] -= $5; open[$1 " " $3 " " $4]++ }
    $2 == "wait" { if ($4 != $1 || open[$1 " " $3 " " $5]-- < 1) { print "# wait without irecv:", $0; bad = 1 } }
    $2 !~ /^(init|compute|isend|irecv|wait|waitall|finalize|barrier|bcast|allreduce|allgather|alltoall|exscan)$/ {
      print "# action:", $0; bad = 1 }
    END { for (k in n) if (n[k] || b[k]) { print "# pair and tag", k, n[k], b[k]; bad = 1 }
      for (k in open) if (open[k]) { print "# not waited for:", k; bad = 1 }
      exit bad || some < 1 }' "$1"/rank_*.txt && [ "$(wc -l < "$1/ti.txt")" = "$(ls "$1"/rank_*.txt | wc -l)" ]
}
# A GOAL file: labels exist before they are required, messages have two ends.
goal_agrees() {
  awk '/^rank/ { r = $2; delete known; next } NR == 1 { if ($1 != "num_ranks" || $2 != ranks) bad = 1; next }
    /^$|^}/ { next }
    $2 == "requires" { if (!($1 in known) || !($3 in known)) { print "# rank", r, $0; bad = 1 } next }
    { sub(":", "", $1); if ($1 in known) bad = 1; known[$1] }
    $2 == "send" { n[r " " $5 " " $7 " " $3]++ } $2 == "recv" { n[$5 " " r " " $7 " " $3]-- }
    END { for (k in n) if (n[k]) { print "# pair, tag, bytes", k, n[k]; bad = 1 } exit bad }' ranks="$1" "$2"
}

for ranks in 1 2 3 4 7; do
  start $ranks run --overwrite run.ini && [ "$(ls run/trace_000000/rank_*.csv | wc -l)" -ge $ranks ]
  ok $? "a run on $ranks ranks records its events"
  [ $ranks = 1 ] || { same_as_comm; ok $? "messages, bytes and collectives by step and phase are those of comm.csv"; }
  start 1 study trace --trace ti ti-$ranks --trace goal $ranks.goal --trace events again-$ranks run/trace_000000 &&
    grep -q "^$ranks rank.*$(awk -F, '$5 ~ /^(a|b|e)/' run/trace_000000/rank_000000.csv | wc -l) collectives" said
  ok $? "study trace reads them"
  diff -r run/trace_000000 "again-$ranks" > err
  ok $? "and writes them again without a difference"
  check "time-independent traces: every message has two ends" ti_agrees ti-$ranks
  check "GOAL: every message has two ends" goal_agrees $ranks $ranks.goal
  start 1 study trace --steps 2:3 run/trace_000000 && cp said some && start 1 study trace run/trace_000000 &&
    awk '/^seconds/ { x[FILENAME] = $2 } END { exit !(x["some"] > 0 && x["some"] < 0.9 * x["said"]) }' some said
  ok $? "two of the soft steps take less than all"
  rm -rf run
done

start 2 run run.ini -n 2 -P Checkpoints:CheckpointAtEnd=on && start 3 run run.ini --restart &&
  [ -e run/trace_000000/rank_000001.csv ] &&
  [ ! -e run/trace_000000/rank_000002.csv ] && [ -e run/trace_000001/rank_000002.csv ] &&
    start 1 study trace run/trace_000001
ok $? "a run that is continued on three ranks begins another recording"
start 2 run --overwrite -P Output:CommTrace=off -P Output:OutputDir=off run.ini && [ "$(ls off | grep -c trace)" = 0 ]
ok $? "CommTrace = off: no recording"
cp off/snapshot_001.hdf5 off.hdf5
start 2 run --overwrite -P Output:OutputDir=off run.ini && [ -e off/trace_000000 ]
ok $? "the same run with it"
if command -v h5diff > /dev/null; then
  h5diff off.hdf5 off/snapshot_001.hdf5 /PartType1 > said 2>\&1
  ok $? "has the same particles"
fi
mkdir blocked && : > blocked/trace_000000
start 2 run -P Output:OutputDir=blocked run.ini
[ $? = 1 ] && has err '^espalier: error: .*trace_000000'
ok $? "a recording that cannot be written is an error at the start"

for ranks in 1 2; do
  start $ranks study let --ranks 16 --trace ti virtual-$ranks --trace goal virtual-$ranks.goal \
    --trace events virtual-events-$ranks -P Output:OutputDir=none run.ini && ti_agrees virtual-$ranks &&
    goal_agrees 16 virtual-$ranks.goal
  ok $? "a soft step of 16 virtual ranks, counted on $ranks: every message has two ends"
done
cmp virtual-1.goal virtual-2.goal && sed 's|virtual-2/|virtual-1/|' virtual-2/ti.txt | cmp - virtual-1/ti.txt &&
  diff -r -x ti.txt virtual-1 virtual-2 > err
ok $? "and the same on one and two processes"
# boxes and LETs of both kinds are those of the table
start 1 study let --ranks 16 --domains -o table.csv run.ini
awk -F, '/^#/ || /^espalier/ { next } /R1_over_R0/ { for (i = 1; i <= NF; i++) at[$i] = i; next } /^seq/ { next }
  FILENAME ~ /table/ { bytes += $(at["soft_bytes"]) + $(at["hard_bytes"]);
    n += $(at["soft_messages"]) + $(at["hard_messages"]); next }
  $5 == "send" && $7 != 204 { sent += $8; m++ }
  END { print "# bytes", bytes, sent, "messages", n, m; exit !(bytes > 0 && bytes == sent &&
    n == m) }' table.csv virtual-events-1/rank_*.csv
ok $? "bytes and messages of their boxes and LETs are those of study let"

# LET summaries in stages: recorded on ranks, and those of virtual ranks, in place of two allgathers
export ESPALIER_DEBUG=let_stages=2
start 3 run --overwrite -n 2 -P Output:OutputDir=staged run.ini &&
  start 1 study trace --trace ti ti-staged staged/trace_000000 && ti_agrees ti-staged
ok $? "summaries in stages, 3 ranks: every message has two ends"
start 1 study let --ranks 16 --trace ti virtual-staged --trace goal virtual-staged.goal --trace events staged-events \
  -P Output:OutputDir=none run.ini &&
  ti_agrees virtual-staged && goal_agrees 16 virtual-staged.goal && start 1 study trace staged-events
ok $? "... and 16 virtual ranks"
unset ESPALIER_DEBUG
# their tag is 206; up and down through four depths, or three where a rank shares a leaf with none
awk -F, '/^#/ || /^seq/ { next } $5 == "allgather" { gathers++ }
  $5 == "send" && $7 == 206 { n++; if ($8 > 32768 - 1) bad = 1 }
  END { print "# allgathers", gathers + 0, "messages", n; exit bad || gathers + 0 != 0 ||
    n < 16 * 2 * 8 }' staged-events/rank_*.csv
ok $? "... send messages in place of allgathers"

# bad STATUS SENTENCE ARGUMENT...
bad() {
  want=$1 fragment=$2
  shift 2
  start 1 "$@"
  [ $? = "$want" ] && has err "$fragment"
  ok $? "says: $fragment"
}
bad 1 'nowhere/rank_000000.csv' study trace nowhere
cp -r again-3 broken && sed -i '5s/^\([0-9]*,[0-9]*,[0-9]*\),[a-z_]*/\1,nothing/' broken/rank_000001.csv
bad 1 "broken/rank_000001.csv, line 5: phase: found 'nothing'" study trace broken
cp again-3/rank_000001.csv broken && sed -i '$d' broken/rank_000002.csv
bad 1 'rank 2 has [0-9]* collectives, rank 0 has' study trace broken
bad 1 'no event of the soft steps 90 to 91' study trace --steps 90:91 again-3
bad 1 'a torus of 2 x 1 x 1 has no place for 3 ranks' study trace --topology torus:2,1,1 again-3
start 1 study trace --topology dragonfly:2 again-3 && grep -q '^network: latency' said
ok $? "a dragonfly"
bad 2 'expected flat, torus:X,Y,Z (at most 1e+07 places), fat-tree' study trace --topology ring again-3
bad 2 'where :PORTS (1 to 6) may follow a torus, found .torus:3,1,1:7.' study trace --topology torus:3,1,1:7 again-3
bad 2 'expected ti, goal or events' study trace --trace otf FILE again-3
bad 2 'expected a kind and a name' study trace again-3 --trace ti
bad 2 'expected soft steps FIRST:LAST' study trace --steps 4:3 again-3
bad 2 'expected a number from 0 on' study trace --latency -1 again-3
bad 2 'one number of ranks' study let --ranks 2,4 --trace ti x run.ini
bad 1 'absent/x.goal cannot be written' study trace --trace goal absent/x.goal again-3
finish
