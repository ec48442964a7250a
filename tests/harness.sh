# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# What test scripts share. A script begins with `. "${srcdir:-.}/tests/harness.sh"`, which leads into a new folder,
# $dir, that is removed at the end; $here is the build folder, whose program is `espalier`, and $src the sources. Then
# it makes a model and a parameter file, runs, and judges: each check prints one line of TAP. Its last line is `finish`.
# shellcheck disable=SC2034  # variables that scripts use
here=$PWD number=0 failed=0
src=$(cd "${srcdir:-.}" && pwd) && dir=$(mktemp -d) && cd "$dir" || exit 99
job='' processes=''   # of runs in the background, which end with the script
drawing=''   # the process of plots_starter.py
trap '[ -z "$drawing" ] || { kill $drawing && wait $drawing; } 2> /dev/null
  [ -z "$job$processes" ] || kill -KILL $job $processes 2> /dev/null
  chmod -R u+w "$dir" 2> /dev/null; rm -rf "$dir"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# Two runs leave the same bytes; pictures are drawn without a display.
export SOURCE_DATE_EPOCH=0 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR="$dir" PATH="$here:$PATH"
# Programs of MPI that end remove folders that those of other scripts use.
export TMPDIR="$dir"

# --- checks ---
shown='said err'   # files whose first lines are shown when a check fails
# ok STATUS TEXT: one check, passed where the status is 0
ok() {
  number=$((number + 1))
  if [ "$1" = 0 ]; then echo "ok $number - $2"; return; fi
  failed=1
  echo "not ok $number - $2"
  for file in $shown; do [ ! -f "$file" ] || sed 's/^/# /' "$file"; done | grep -v '^# ok' | head -40
}
# check TEXT COMMAND...: one check, passed where the command succeeds
check() {
  title=$1
  shift
  "$@"
  ok $? "$title"
}
skip() { number=$((number + 1)) && echo "ok $number - $1 # SKIP $2"; }
skip_all() { echo "1..0 # SKIP $1" && exit 0; }
finish() { echo "1..$number" && exit $failed; }
has() { grep -q -e "$2" "$1"; }                        # FILE TEXT
lacks() { ! grep -q -e "$2" "$1"; }
count() { grep -c -e "$2" "$1"; }
holds() { awk "BEGIN { exit !($1) }"; }                # EXPRESSION of numbers
# try COMMAND...: its words go to said and err; $status
try() {
  "$@" > said 2> err < /dev/null
  status=$?
  return $status
}
# says STATUS TEXT... -- COMMAND...: the command ends so, and has each text in its messages (STATUS = 0: in all its
# words)
says() {
  expected=$1
  shift
  : > .texts
  while [ "$1" != -- ]; do printf '%s\n' "$1" >> .texts && shift; done
  shift
  try "$@"
  if [ "$expected" = 0 ]; then cat said err; else cat err; fi > .said
  [ $status = "$expected" ] || return 1
  while IFS= read -r text; do has .said "$text" || return 1; done < .texts
}
# within SECONDS COMMAND...: until it succeeds
within() {
  tries=$(($1 * 20))
  shift
  while ! "$@"; do
    [ $tries -gt 0 ] || return 1
    tries=$((tries - 1))
    sleep 0.05
  done
}

# --- models and parameter files ---
# model NAME OPTION...: initial conditions, ic.hdf5 unless -o says another name
model() {
  case " $* " in *' -o '*) ;; *) set -- "$@" -o ic.hdf5 ;; esac
  # sanitizers: without a launcher LeakSanitizer was seen to crash
  launch 1 ic "$@" > ic.log 2>&1 || { cat ic.log; exit 99; }
}
# parameters FILE SECTION:NAME=VALUE...: a parameter file for ic.hdf5 with G = 1 unless others are given; the last of
# two values counts, and NAME= leaves a parameter out
parameters() {
  file=$1
  shift
  printf '%s\n' Input:InitCondFile=ic.hdf5 Units:GravityConstantInternal=1 "$@" | awk '
    { key = $0; sub(/=.*/, "", key); if (!(key in value)) name[++n] = key; value[key] = substr($0, length(key) + 2) }
    END { for (i = 1; i <= n; i++) if (value[name[i]] != "") { split(name[i], at, ":")
      print "[" at[1] "]\n" at[2] " = " value[name[i]] } }' > "$file"
}
hybrid='Split:Mode=hybrid Steps:Scheme=block'
# For runs whose parts are compared with the whole; `go` has them in a folder beside ic.hdf5.
parts="Input:InitCondFile=../ic.hdf5 Output:OutputDir=out Output:TimeBetSnapshot=0.03125 Output:TimeBetStatistics=1e-9
  Output:SubstepLog=on Checkpoints:CheckpointAtEnd=on Time:TimeMax=0.125 Gravity:Softening=0.0139 Device:Tuning=frozen
  Device:Backend=cpu Split:SoftStep=0.015625 $hybrid"
parts_model() { model plummer -n "$1" -s 3 && parameters run.ini $parts; }   # PARTICLES

# --- runs ---
# starter RANKS: the launcher's words; none for one rank (half a second less), but with sanitizers, and where a script
# sets $always_launched; RANKS = 0: none
starter() {
  [ "$1" = 0 ] || { [ "$1" = 1 ] && [ -z "${ASAN_OPTIONS-}${always_launched-}" ]; } ||
    echo "${MPIRUN:-mpirun} ${MPIRUN_FLAGS-} -n $1"
}
# launch RANKS ARGUMENT...: the program; for at most $limit seconds, where that is set
launch() {
  start=$(starter "$1")
  shift
  ${limit:+timeout -k 10 $limit} $start "$here/espalier" "$@" < /dev/null
}
# on RANKS LEAST TEST ARGUMENT...: a check: a program of the tests on so many ranks has more than LEAST checks, and all
# pass
on() {
  ranks=$1 least=$2 program=$3
  shift 3
  [ "$ranks" -le "${MOST_RANKS:-64}" ] || return 0
  try timeout 300 $(starter "$ranks") "$here/tests/$program.mpi" "$@"
  count=$(count said '^ok ')
  [ $status = 0 ] && has said "^1\.\.$count\$" && [ "$count" -gt "$least" ]
  ok $? "$program $*, $ranks ranks: status $status, $count checks"
}
# go NAME RANKS OPTION...: a run in the folder NAME, whose parameters are ../run.ini; $status, NAME/log and NAME/err
go() {
  name=$1 on=$2 shown="$1/err $1/log"
  shift 2
  mkdir -p "$name"
  (cd "$name" && limit=${limit:-120} launch "$on" run "$@" ../run.ini) > "$name/log" 2> "$name/err"
  status=$?
}
# begin NAME RANKS OPTION...: the same in the background: $job
begin() {
  name=$1 on=$2 shown="$1/err $1/log"
  shift 2
  mkdir -p "$name"
  (cd "$name" && exec $(starter "$on") "$here/espalier" run "$@" ../run.ini) > "$name/log" 2> "$name/err" < /dev/null &
  job=$!
}
gone() { ! kill -0 "$job" 2> /dev/null; }
# ended: $status of that run, which ends within half a minute or is killed
ended() {
  within 30 gone || kill -KILL "$job"
  wait "$job"
  status=$?
  job=
}
# ends STATUS [TEXT]: the last run ended so, and this is in its messages
ends() { [ "$status" = "$1" ] && { [ -z "${2-}" ] || has "$name/err" "$2"; }; }
quiet() { [ ! -s "$name/err" ]; }                      # it has no messages
# refused TEXT OPTION...: a check: a run on one rank says it in one sentence, ends with status 1, and writes nothing
refused() {
  text=$1
  shift
  rm -rf bad
  go bad 1 "$@"
  ends 1 "$text" && [ "$(count bad/err '^espalier:')" = 1 ] && [ ! -e bad/out ]
  ok $? "refused: $text ($*)"
}
reports() { grep -q -x -e "$2" "$1/out/status"; }      # NAME KEY=VALUE: the status file of a run

# small_disk SIZE SCRIPT: the script begins again as "SCRIPT inside FOLDER", with a file system of this size at FOLDER;
# goes on where none may be mounted
small_disk() {
  mkdir disk
  mount="mount -t tmpfs -o size=$1 espalier-test $dir/disk"
  for namespace in "unshare -m" "unshare -rm"; do
    $namespace sh -c "$mount" 2> /dev/null || continue
    cd "$here" && $namespace sh -c "$mount && srcdir=$src sh $src/tests/$2 inside $dir/disk"
    exit
  done
}

# --- tables and snapshots ---
rows() { grep -v '^#' "$1"; }                          # FILE: without comments
# table PROGRAM FILE...: an awk program for the rows of tables, in which $at["NAME"] is a column; FNR counts lines
table() {
  program=$1
  shift
  awk -F, 'FNR == 1 { named = 0 } /^#/ { next }
    !named { named = 1; split("", at); for (i = 1; i <= NF; i++) at[$i] = i; next }
    '"$program" "$@"
}
# columns FILE NAME...: the values of columns
columns() {
  file=$1
  shift
  table 'BEGIN { n = split("'"$*"'", want, " ") } { line = $at[want[1]]
    for (k = 2; k <= n; k++) line = line " " $at[want[k]]; print line }' "$file"
}
# without FILE NAME...: the table without these columns and without comments
without() {
  file=$1
  shift
  rows "$file" |
    awk -F, -v names="$*" 'BEGIN { n = split(names, list, " "); for (i = 1; i <= n; i++) drop[list[i]] = 1 }
    NR == 1 { for (i = 1; i <= NF; i++) out[i] = $i in drop }
    { line = ""; for (i = 1; i <= NF; i++) if (!out[i]) line = line "," $i; print line }'
}
same_rows() { rows "$1" > one.rows && rows "$2" > two.rows && [ -s one.rows ] && cmp one.rows two.rows; }   # FILE FILE
# same_tables ONE TWO: tables of two runs, byte by byte where no clock is in them
same_tables() {
  cmp "$1/out/energy.csv" "$2/out/energy.csv" || return 1
  for run in "$1" "$2"; do
    without "$run/out/steps.csv" h imbalance_seconds seconds > "$run.steps"
    without "$run/out/substeps.csv" select rebuild moments walk correct all > "$run.substeps"
  done
  cmp "$1.steps" "$2.steps" && cmp "$1.substeps" "$2.substeps" && [ "$(wc -l < "$1.steps")" -gt 2 ]
}
# same ONE TWO: the same snapshots and tables
same() {
  ls "$1/out"/snapshot_*.hdf5 > /dev/null || return 1
  [ "$(cd "$1/out" && ls snapshot_*.hdf5)" = "$(cd "$2/out" && ls snapshot_*.hdf5)" ] || return 1
  for file in "$1/out"/snapshot_*.hdf5 "$1/out/analysis.csv"; do cmp "$file" "$2/out/${file##*/}" || return 1; done
  same_tables "$1" "$2"
}

# --- Python ---
# with_python MODULES: $python, the path of a python3 that has these modules ("h5py, numpy"); none where it is empty. A
# path, because mpirun puts the folder of its own programs before those of PATH.
with_python() {
  for python in "${PYTHON-}" python3 /usr/bin/python3; do
    test -n "$python" && "$python" -c "import $1" 2> /dev/null && python=$(command -v "$python") && return 0
  done
  python=
  return 1
}
# judge NAME ARGUMENT...: one of tests/judge.py; where no python3 can, nothing is judged
judge() { [ -z "${python=}" ] || "$python" "$src/tests/judge.py" "$@"; }
# with_plots: $plot, the command of plots, and $python, a python3 that draws; else the script is skipped
with_plots() {
  plot=$src/tools/espalier-plot
  python=$("$plot" --find 2> /dev/null) || skip_all "no python3 with h5py, numpy and matplotlib"
}
# script FILE ARGUMENT...: a script of Python that draws; its words go to said and err; $status. One process has loaded
# matplotlib (plots_starter.py), and a copy of it runs the script, which saves a second each time. (Descriptor 9 is the
# lock of lane.sh.)
script() {
  if [ ! -p .requests ]; then
    mkfifo .requests .answers
    "$python" "$src/tests/plots_starter.py" "$src/tools" < .requests > .answers &
    drawing=$!
    exec 7> .requests 8< .answers
  fi
  printf '%s\n' said err "$@" > .asked
  echo .asked >&7
  read -r status <&8 || status=99
  return "$status"
}
# plots KIND ARGUMENT...: what espalier-plot runs for this kind, in the same way
plots() {
  kind=$1
  shift
  script "$src/tools/plot_$kind.py" "$@"
}
# refuses_plot TEXT KIND ARGUMENT...: a check: status 1 (2 for misuse), the text in the sentence at the end, no picture
refuses_plot() {
  fragment=$1
  kind=$2
  shift 2
  rm -f plot.png
  plots "$kind" -o plot.png "$@"
  { [ $status = 1 ] || [ $status = 2 ]; } && tail -n 1 err | grep -q -F -e "$fragment" && ! grep -q Traceback err &&
    [ ! -e plot.png ]
  ok $? "status $status: $fragment"
}
# draws TITLE KIND ARGUMENT...: a check: a picture in which nothing lies over anything else; what is where goes to said
draws() {
  title=$1
  shift
  rm -f plot.png
  script "$src/tests/plots_layout.py" "$src/tools" "$@" -o plot.png
  [ $status = 0 ] && [ ! -s err ] && head -c 4 plot.png | grep -q PNG && [ "$(wc -c < plot.png)" -gt 10000 ]
  ok $? "$title: status $status"
}
