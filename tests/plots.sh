#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The plots of real runs on three ranks and one: pictures, the numbers of the comparison, and a sentence for bad input.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
plot=${srcdir:-.}/tools/espalier-plot
if ! "$plot" --find > /dev/null 2>&1; then
  echo "1..0 # SKIP no python3 with h5py, numpy and matplotlib"
  exit 0
fi
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR="$dir"
. "${srcdir:-.}/tests/tap.sh"
told="$dir/out $dir/err"

cat > "$dir/run.ini" << END
[Input]
InitCondFile = $dir/plummer.hdf5
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = 0.09375
[Gravity]
Softening = 0.03
[Split]
SoftStep = 0.03125
END
# run RANKS FOLDER -P ...
run() {
  n=$1 folder=$2
  shift 2
  # shellcheck disable=SC2086
  timeout 300 ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n "$n" ./espalier run -P "Output:OutputDir=$dir/$folder" "$@" "$dir/run.ini" \
    > "$dir/out" 2> "$dir/err" < /dev/null
}
./espalier ic plummer -n 600 -o "$dir/plummer.hdf5" > "$dir/out" 2> "$dir/err" &&
  run 3 hybrid -P Output:CommLog=peers && run 3 tree -P Split:Mode=tree -P Output:SubstepLog=on && run 3 off -P Output:CommLog=off && run 1 one
ok $? "runs on three ranks and one"

# draws TITLE KIND ARGUMENT...: a picture
draws() {
  title=$1
  shift
  rm -f "$dir/plot.png"
  "$plot" "$@" -o "$dir/plot.png" > "$dir/out" 2> "$dir/err"
  status=$?
  [ $status = 0 ] && [ ! -s "$dir/err" ] && head -c 4 "$dir/plot.png" | grep -q PNG && [ "$(wc -c < "$dir/plot.png")" -gt 10000 ]
  ok $? "$title: status $status"
}
draws "messages of a run with pairs" comm "$dir/hybrid"
draws "pairs of two phases" comm "$dir/hybrid/comm.csv" --phase let_select,hard_let
draws "messages of a run without pairs" comm "$dir/tree"
draws "two runs compared" comm "$dir/tree" "$dir/hybrid"
# the lines 'interactions, all' and 'bytes between ranks, all' against the tables
awk '
  function column(name,  i) { for (i = 1; i <= NF; i++) if ($i == name) return i }
  FILENAME ~ /csv$/ { FS = ","; $0 = $0 }
  /^#/ { next }
  $1 == "step" { split("", at); at["full"] = column("pairs_full"); at["hard"] = column("pairs_hard"); at["dt"] = column("dt_soft")
    at["bytes"] = column("bytes"); at["rank"] = column("rank"); next }
  FILENAME ~ /steps/ { run = FILENAME; sub("/steps.csv", "", run); sub(".*/", "", run); pairs[run] += $at["full"] + $at["hard"]; span[run] += $at["dt"]; next }
  FILENAME ~ /comm/ { run = FILENAME; sub("/comm.csv", "", run); sub(".*/", "", run); if ($1 > 0 && $at["rank"] == -1) bytes[run] += $at["bytes"]; next }
  { FS = " "; $0 = $0 }
  function near(found, expected, what) { n++; if (found > 1.0006 * expected || found < 0.9994 * expected) { print "#", what, found, expected; bad = 1 } }
  /^interactions, all/ { near($4, pairs[$3] / span[$3], $0) }
  /^bytes between ranks, all/ { near($6, bytes[$5] / span[$5], $0) }
  /^interactions, all .*hybrid.* x[0-9]/ { sub(".* x", ""); ratio = $1; n++; r = (pairs["hybrid"] / span["hybrid"]) / (pairs["tree"] / span["tree"])
    if (ratio > r + 0.006 || ratio < r - 0.006) { print "# ratio", ratio, r; bad = 1 } }
  END { exit bad || n != 5 }' "$dir/tree/steps.csv" "$dir/tree/comm.csv" "$dir/hybrid/steps.csv" "$dir/hybrid/comm.csv" "$dir/out"
ok $? "the comparison's numbers are those of the tables"
draws "steps" steps "$dir/hybrid"
draws "energy" energy "$dir/hybrid" "$dir/one"
./espalier force --delta 5:9:2 --direct 100 -o "$dir/curve.csv" "$dir/run.ini" > "$dir/out" 2> "$dir/err"
draws "curves of error against time" force "$dir/curve.csv" "$dir/curve.csv" --targets 1e-3,5e-3
# a row for every substep of rank 0, which may have fewer than the rank with most, and one for the synchronisation
draws "block steps" substeps "$dir/tree" &&
  awk '
  function column(name,  i) { for (i = 1; i <= NF; i++) if ($i == name) return i }
  BEGIN { FS = "," }
  /^#/ { next }
  $1 == "step" { split("", at); for (i = 1; i <= NF; i++) at[$i] = i; next }
  FILENAME ~ /substeps/ { rows[$1]++; ends[$1] += $at["tick"] == 2 ^ 30; sum = 0
    for (part = at["select"]; part <= at["correct"]; part++) { sum += $part; bad = bad || $part < -0.01 }
    bad = bad || sum > $at["all"] + 0.01 || $at["active"] < 1 || $at["active"] > 600; next }
  { bad = bad || rows[$1] < 2 || rows[$1] > $at["substeps"] + 1 || ends[$1] != 1; steps++ }
  END { exit bad || steps < 1 }' "$dir/tree/substeps.csv" "$dir/tree/steps.csv"
ok $? "rows of block steps: as many as there are, parts within the whole"
[ ! -e "$dir/hybrid/substeps.csv" ]
ok $? "no rows where they are not asked for"
draws "density" density "$dir"/hybrid/snapshot_000.hdf5
draws "profile" profile "$dir"/hybrid/snapshot_000.hdf5

"$plot" comm "$dir/hybrid" "$dir/one" -o "$dir/plot.png" > "$dir/out" 2> "$dir/err" && grep -q 'different numbers of ranks: 3, 1' "$dir/err"
ok $? "three ranks and one can be compared, and it is said"

# says FRAGMENT ARGUMENT...: status 1, one line that begins with the script's name, no picture
says() {
  fragment=$1
  shift
  rm -f "$dir/plot.png"
  "$plot" comm -o "$dir/plot.png" "$@" > "$dir/out" 2> "$dir/err"
  status=$?
  [ $status = 1 ] && [ "$(wc -l < "$dir/err")" = 1 ] && grep -q "^plot_comm.py: .*$fragment" "$dir/err" && [ ! -e "$dir/plot.png" ]
  ok $? "status $status: $fragment"
}
mkdir "$dir/empty" "$dir/names" "$dir/begun" "$dir/columns" "$dir/words" "$dir/bare"
: > "$dir/empty/comm.csv"
grep -E '^(#|step)' "$dir/hybrid/comm.csv" > "$dir/names/comm.csv"
grep -E '^(#|step|0,)' "$dir/hybrid/comm.csv" > "$dir/begun/comm.csv"
sed 's/hidden_mean/hiden/' "$dir/hybrid/comm.csv" > "$dir/columns/comm.csv"
grep -v '^#' "$dir/hybrid/comm.csv" > "$dir/bare/comm.csv"
printf 'a,b\n1,2\n' > "$dir/words/other.csv"
says 'absent is not there' "$dir/absent"
says 'absent is not there' "$dir/hybrid" "$dir/absent"
says 'comm.csv is not there: no run' "$dir/words"
says 'comm.csv is not there: on one rank' "$dir/one"
says 'comm.csv is not there: the run on 3 ranks had CommLog = off' "$dir/off"
says 'CommLog = off' "$dir/hybrid" "$dir/off"
says 'steps.csv cannot be read: No such file' "$dir/hybrid" "$dir/begun"
says 'is empty' "$dir/empty"
says 'has no rows yet' "$dir/names"
says 'has no soft step yet' "$dir/begun"
says "has no column 'hidden_mean'" "$dir/columns"
says 'no line that names the number of ranks' "$dir/bare"
says 'other.csv is neither' "$dir/words/other.csv"
says 'plummer.hdf5 is neither' "$dir/plummer.hdf5"
says "no phase 'rest'" "$dir/hybrid" --phase rest
says 'between ranks nothing was sent in diagnostics' "$dir/hybrid" --phase diagnostics
says 'run with CommLog = peers' "$dir/tree" --phase all
says 'phase is for the plot of one run' "$dir/tree" "$dir/hybrid" --phase all
says 'cannot be written' "$dir/hybrid" -o "$dir/absent/plot.png"

# Tables of espalier study: only the columns that are drawn.
cat > "$dir/study.csv" << END
R1_over_R0,ranks,local_mean,soft_mean,hard_mean,soft_bytes,hard_bytes,update_bytes,hard_over_soft,local_hard_over_local_soft
1,1,4096,0,0,0,0,0,nan,1
1,2,2048,900,600,40000,30000,9000,0.667,0.9
1,8,512,1400,700,70000,36000,9000,0.5,0.63
END
if [ -e "${srcdir:-.}/tools/plot_study.py" ]; then
  draws "a table of espalier study" comm "$dir/study.csv"
else
  says 'plot_study.py, which draws it, is not beside' "$dir/study.csv"
fi
says 'and .*hybrid is not: draw them' "$dir/study.csv" "$dir/hybrid"
for steps in nan,inf 3 5,2 a,b; do
  "$plot" substeps "$dir/tree" --steps $steps -o "$dir/plot.png" > "$dir/out" 2> "$dir/err"
  [ $? = 1 ] && [ "$(wc -l < "$dir/err")" = 1 ] && grep -q '^plot_substeps.py: --steps: two numbers' "$dir/err"
  ok $? "a sentence for --steps $steps"
done

# refuses FRAGMENT ARGUMENT...: compare-schemes, before its first run
refuses() {
  fragment=$1
  shift
  "${srcdir:-.}/tools/compare-schemes" "$@" > "$dir/out" 2> "$dir/err"
  [ $? = 1 ] && [ ! -s "$dir/out" ] && [ "$(wc -l < "$dir/err")" = 1 ] && grep -q "^compare-schemes: .*$fragment" "$dir/err"
  ok $? "compare-schemes: $fragment"
}
refuses 'absent: there is no such program' "$dir/absent" "$dir/plummer.hdf5" 0.1
refuses 'absent: there is no such file' ./espalier "$dir/absent" 0.1
refuses "SOFTENING: expected a number above 0, found 'nan'" ./espalier "$dir/plummer.hdf5" nan
refuses "time: expected a number above 0, found 'x'" ./espalier "$dir/plummer.hdf5" 0.1 --time x
refuses 'table: .*t.csv cannot be written' ./espalier "$dir/plummer.hdf5" 0.1 --table "$dir/absent/t.csv"
refuses 'picture: .*t.png cannot be written' ./espalier "$dir/plummer.hdf5" 0.1 --picture "$dir/absent/t.png"
echo "1..$number"
exit $failed
