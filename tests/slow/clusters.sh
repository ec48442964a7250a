#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# True energy errors of star clusters without softening, Integrator = hermite: the largest |dE/E| over snapshots by
# direct sums in double precision (tests/true_energy), against limits. Prints TAP, and a table of errors and costs.
#
#   [RANKS=1] [OPTIONS="-P Device:Backend=cuda"] sh tests/slow/clusters.sh [CASE...]   in the build folder;
# all cases by default
#
# Cases: double single half (soft steps), masses, binary, binaries, nucleus. Half a minute on two cores, make
# tests/true_energy before it.
. "${srcdir:-.}/tests/slow/common.sh"
[ $# -gt 0 ] || set -- double single half masses binary binaries nucleus
program=$PWD/espalier judge=$PWD/tests/true_energy
[ -x "$judge" ] || { echo "Bail out! no tests/true_energy: make tests/true_energy"; exit 1; }
: "${OMP_NUM_THREADS:=2}" "${RANKS:=1}" "${OPTIONS:=}"
export OMP_NUM_THREADS OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
plan $(($# + 1))
scratch clusters
cd "$scratch_dir" || exit 99

cat > cluster.ini << END
[Units]
GravityConstantInternal = 1
[Gravity]
Softening = 0
MultipoleOrder = 2
ErrTolForceAcc = 0.00006103515625
[Split]
Mode = hybrid
Kernel = septic
R1 = 0.032
R2 = 0.128
[Steps]
Scheme = block
Integrator = hermite
Eta = 0.1
END

# simulate CASE MODEL TIME SOFTSTEP -P...: makes the model, runs it, leaves the true error and the table's row; status 0
# where all went well
simulate() {
  name=$1 model=$2 span=$3 step=$4
  shift 4
  # shellcheck disable=SC2086  # words
  "$program" ic $model -o "$name.hdf5" > "$name.log" 2>&1 < /dev/null || return 1
  start=
  [ "$RANKS" = 1 ] || start="$MPIRUN $MPIRUN_FLAGS -n $RANKS"
  # shellcheck disable=SC2086  # words
  timeout 600 $start "$program" run -q -P Input:InitCondFile="$name.hdf5" -P Output:OutputDir="$name" \
    -P Time:TimeMax="$span" \
    -P Output:TimeBetSnapshot="$(awk "BEGIN { print $span / 8 }")" -P Split:SoftStep="$step" "$@" $OPTIONS cluster.ini \
    >> "$name.log" 2>&1 < /dev/null || return 1
  "$judge" "$name"/snapshot_*.hdf5 > "$name.energies" 2>> "$name.log" < /dev/null || return 1
  awk -F, -v name="$name" -v step="$step" '
    FILENAME ~ /energies$/ { if (/^# largest/) { split($0, w, " "); error = w[4] + 0 } next }
    FILENAME ~ /log$/ { if (/^done:/) { split($0, w, " "); for (i in w) if (w[i] == "in") seconds = w[i + 1];
      logged = w[length(w)] } next }
    /^step/ { for (i = 1; i <= NF; i++) at[$i] = i; next }
    /^#/ { next }
    { n++; entries += $at["neighbours"]; steps += $at["hard_steps"]; if ($at["binaries"] > most) most = $at["binaries"];
      if ($at["level_max"] > level) level = $at["level_max"] }
    END { printf "# | %-8s | %-7s | %8.2e | %8.2e | %5d | %6.1f | %9.0f | %3d | %3d | %7.1f |\n", name, step, error,
      logged, n, entries / n, steps, level, most, seconds
      print error > (name ".error") }' "$name.energies" "$name.log" "$name/steps.csv" >> table
}
# check CASE TEXT LIMIT MODEL TIME SOFTSTEP -P...: its true error is at most LIMIT
check() {
  name=$1 text=$2 limit=$3
  shift 3
  if ! simulate "$name" "$@"; then
    result 1 "$text: no run"
    tail -n 5 "$name.log" | sed 's/^/# | /'
  else
    awk "BEGIN { exit !($(cat "$name.error") <= $limit) }"
    result $? "$text: largest true |dE/E| $(cat "$name.error"), at most $limit"
  fi
}

for case in "$@"; do
  case $case in
    double) check double "Plummer 4096, twice the soft step" 1e-5 "plummer -n 4096" 1 0.018 ;;
    single) check single "Plummer 4096" 3e-6 "plummer -n 4096" 1 0.009 ;;
    half) check half "Plummer 4096, half the soft step" 8e-7 "plummer -n 4096" 1 0.0045 ;;
    masses) check masses "Plummer 4096, masses 1 : 20" 1e-5 "plummer -n 4096 --mass-function two --heavy-ratio 20" 1 \
      0.009 ;;
    # hard pairs of semi-major axis 1e-4 and eccentricity 0.9
    binary) check binary "Plummer 4096, a hard binary" 3e-6 \
      "plummer -n 4096 --binaries 0.000245 --binary-min 1e-4 --binary-max 1e-4 --eccentricity 0.9" 1 0.009 ;;
    binaries) check binaries "Plummer 4096, five hard binaries" 3e-6 \
      "plummer -n 4096 --binaries 0.001222 --binary-min 1e-4 --binary-max 1e-4 --eccentricity 0.9" 1 0.009 ;;
    nucleus) check nucleus "Hernquist 2048, a central mass of 1e-2" 5e-6 "hernquist -n 2048 --central-mass 0.01" 0.25 \
      0.0045 ;;
    *) result 1 "there is no case $case" ;;
  esac
done
if [ -s double.error ] && [ -s single.error ]; then
  ratio=$(awk "BEGIN { print $(cat double.error) / $(cat single.error) }")
  awk "BEGIN { exit !($ratio >= 3 && $ratio <= 5) }"
  result $? "half the soft step divides the error by $ratio, expected 3 to 5"
else
  skip "half the soft step" "these cases were not run"
fi
echo "# | case     | SoftStep | true     | energy.csv | steps | neighbours | hard steps | level | pairs | seconds |"
cat table
finish
