#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The communicator on other numbers of ranks, many more than cores too; comm.csv of a run against steps.csv and itself.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
. "${srcdir:-.}/tests/tap.sh"
shown="$dir/out $dir/err"
export OMP_NUM_THREADS=1
# start RANKS COMMAND...
start() {
  n=$1
  shift
  # shellcheck disable=SC2086
  timeout 300 ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n "$n" "$@" > "$dir/out" 2> "$dir/err" < /dev/null
}
for n in 1 2 7 64; do
  start $n tests/comm.mpi
  status=$?
  count=$(grep -c '^ok ' "$dir/out")
  [ $status = 0 ] && grep -q "^1\.\.$count\$" "$dir/out" && [ "$count" -gt 10 ]
  ok $? "$n ranks: status $status, $count checks"
done

./espalier ic plummer -n 600 -o "$dir/plummer.hdf5" > /dev/null || exit 99
cat > "$dir/run.ini" << END
[Input]
InitCondFile = $dir/plummer.hdf5
[Output]
OutputDir = $dir/run
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = 0.125
[Gravity]
Softening = 0.03
[Split]
Mode = hybrid
SoftStep = 0.03125
[Steps]
Scheme = block
END
run() {
  n=$1
  shift
  start "$n" ./espalier run -v --overwrite "$@" "$dir/run.ini"
}
comm=$dir/run/comm.csv steps=$dir/run/steps.csv
# check PROGRAM FILE...: an awk program over tables without comments; columns by name: $(at["name"])
check() {
  program=$1
  shift
  awk -F, '/^#/ { next } FNR == 1 || $1 == "step" { for (i = 1; i <= NF; i++) at[$i] = i; next }'"$program" "$@"
}

run 3 -P Output:CommLog=peers
ok $? "a run on three ranks with CommLog = peers: $(grep -o '^messages: .* between ranks' "$dir/out")"
check 'FILENAME ~ /steps/ { expected[$(at["step"])] = $(at["let_bytes"]); next }
  $(at["rank"]) == -1 && $(at["phase"]) ~ /let/ { sum[$1] += $(at["bytes"]) }
  END { for (s in expected) { n++; if (sum[s] != expected[s]) { print "# step", s, sum[s], expected[s]; bad = 1 } } exit bad || n != 4 }' "$steps" "$comm"
ok $? "the bytes of both LET phases are let_bytes of steps.csv, in every step"
check '{ key = $(at["step"]) " " $(at["phase"]) }
  $(at["rank"]) == -1 { messages[key] = $(at["messages"]); bytes[key] = $(at["bytes"]); most[key] = $(at["bytes_largest_rank"]); wait[key] = 3 * $(at["wait_mean"]); next }
  { m[key] += $(at["messages"]); b[key] += $(at["bytes"]); w[key] += $(at["wait_mean"]); r[key " " $(at["rank"])] += $(at["bytes"]); n++ }
  END { for (k in m) if (!(k in messages)) { print "# no row of the phase:", k; bad = 1 }
    for (k in messages) { x = 0; for (i = 0; i < 3; i++) if (r[k " " i] > x) x = r[k " " i]
      d = w[k] - wait[k]
      if (m[k] + 0 != messages[k] || b[k] + 0 != bytes[k] || x != most[k] || d > 2e-5 || d < -2e-5) { print "#", k, m[k], messages[k], b[k], bytes[k], x, most[k], d; bad = 1 } }
    exit bad || n < 24 }' "$comm"
ok $? "the pairs of ranks add up to the phases"
check '{ if (NF != 18 || $(at["rank"]) >= 3 || $(at["rank"]) == $(at["peer"]) && $(at["rank"]) != -1) bad = 1 } END { exit bad || NR < 20 }' "$comm"
ok $? "rows are complete"

run 3 && check '$(at["rank"]) != -1 { bad = 1 } { n++ } END { exit bad || n < 20 }' "$comm"
ok $? "CommLog = phases by itself: no pairs"
run 3 -P Output:CommLog=off && [ ! -e "$comm" ] && [ -e "$steps" ]
ok $? "CommLog = off: no table, and the earlier run's is gone"
run 1 && [ ! -e "$comm" ] && ! grep -q '^messages' "$dir/out"
ok $? "one rank: no table"
: > "$comm"
rm "$steps" "$dir/run/energy.csv" "$dir/run/timers.csv" "$dir/run/parameters-used.ini" "$dir/run"/*.hdf5
start 3 ./espalier run "$dir/run.ini"
[ $? = 1 ] && grep -q 'comm.csv exists' "$dir/err"
ok $? "a folder with an earlier run's comm.csv is refused"
ESPALIER_LARGEST_MESSAGE=5000 run 3 -P Output:CommLog=peers
check 'FILENAME ~ /steps/ { expected[$(at["step"])] = $(at["let_bytes"]); next }
  $(at["rank"]) == -1 && $(at["phase"]) ~ /let/ { sum[$1] += $(at["bytes"]) }
  $(at["rank"]) >= 0 && $(at["bytes"]) > 5000 * $(at["messages"]) { bad = 1 }
  END { for (s in expected) { n++; if (sum[s] != expected[s]) bad = 1 } exit bad || n != 4 }' "$steps" "$comm"
ok $? "messages cut to 5000 bytes: the same sums, more pieces"
echo "1..$number"
exit $failed
