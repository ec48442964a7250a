#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# compare-schemes --all and calibrate-accuracy: runs of tiny models with true errors, tables by a program of known
# errors, continued tables, runs that fail, and a sentence for bad input. tests/plots.sh has compare-schemes with one
# model.
. "${srcdir:-.}/tests/harness.sh"
with_python "csv, tempfile" || skip_all "no python3"

for group in interpolation comparison choice names progress limit tables cheapest definitions; do
  mkdir "$group"
  check "functions: $group" try "$python" "$src/tests/schemes.py" "$src/tools" "$group" "$group"
done

# tool NAME ARGUMENT...; $status
tool() {
  name=$1
  shift
  try timeout 600 "$python" "$src/tools/$name" "$@"
}
# refuses NAME FRAGMENT ARGUMENT...: one sentence before the first run
refuses() {
  refusing=$1 fragment=$2
  shift 2
  tool "$refusing" "$@"
  [ $status = 1 ] && [ ! -s said ] && [ "$(wc -l < err)" = 1 ] && has err "^$refusing: .*$fragment"
  ok $? "$refusing: $fragment"
}
# column FILE NAME SCHEME: the values of a column in rows of a scheme or scan; labels with commas are quoted
column() {
  "$python" -c \
    'import csv, sys
rows = csv.DictReader(open(sys.argv[1]))
[print(r[sys.argv[2]]) for r in rows if sys.argv[3] in (r.get("scheme"), r.get("scan"))]' "$@"
}

all="$here/espalier --all"
refuses compare-schemes "largest: expected a whole number of at least 1, found '1.5'" $all --largest 1.5
refuses compare-schemes 'largest: no model has at most 10 particles; the smallest has 64' $all --models plummer6 \
  --largest 10
refuses compare-schemes "models: there is no model 'disk'" $all --models plummer6,disk
refuses compare-schemes 'models: m31 needs --m31 FILE' $all --models m31
refuses compare-schemes 'm31: absent: there is no such file' $all --m31 absent
refuses compare-schemes 'true: absent: there is no such program' $all --true absent
refuses compare-schemes "forces: expected DELTA or DELTA:ORDER .* found 'x'" $all --forces x
refuses compare-schemes '--continue needs --table FILE' $all --continue
refuses compare-schemes "there is no option '--modles'" $all --modles plummer6
refuses compare-schemes '--models needs --all' "$here/espalier" "$src/tests/schemes.sh" 0.1 --models plummer6
echo "not a snapshot" > bad.dat
refuses compare-schemes "bad.dat: espalier: error: " "$here/espalier" --all --models m31 --m31 bad.dat
refuses compare-schemes "m31: expected files of different names, found " "$here/espalier" --all --m31 bad.dat \
  --m31 bad.dat
refuses calibrate-accuracy 'absent: there is no such program' "$here/espalier" absent
refuses calibrate-accuracy "exact: expected DELTA:ORDER, as 2^-15:2 or 0.001:1, found '2'" "$here/espalier" \
  "$here/tests/true_energy" --exact 2
refuses calibrate-accuracy "scans: there is no scan 'steps'" "$here/espalier" "$here/tests/true_energy" \
  --scans forces,steps
refuses calibrate-accuracy "share: expected a number between 0 and 1, found '1'" "$here/espalier" \
  "$here/tests/true_energy" --share 1
refuses calibrate-accuracy "errors: expected a number above 0, found 'fine'" "$here/espalier" \
  "$here/tests/true_energy" --errors fine
refuses calibrate-accuracy 't.csv cannot be written' "$here/espalier" "$here/tests/true_energy" --table absent/t.csv
tool calibrate-accuracy "$here/espalier"
[ $status = 1 ] && has err '^Usage: calibrate-accuracy ESPALIER TRUE_ENERGY'
ok $? "calibrate-accuracy: how it is called"

# A program of known errors and times: of shared steps 1e-4 (step / dh)^2 and 4 dh / step, of block steps 1e-6 eta^2 and
# 2 / eta, of the hybrid 1e-5 eta^2 and 1 / eta, by default 4e-6 and 1.5, with Accuracy = fine 1e-6 and 6; with a file
# `broken` hybrids fail.
cat > schemes << 'END_OF_PROGRAM'
#!/bin/sh
folder=$(dirname "$0") scheme=auto x=2
case $1 in
  params) printf '[Accuracy]\n# error\nAccuracy = standard\n'; exit 0 ;;
  ic) for word; do :; done; : > "$word"; exit 0 ;;
esac
for word; do
  case $word in
    Steps:FixedStep=*) scheme=shared x=${word#*=} ;; Steps:Eta=*) x=${word#*=} ;; Split:Mode=hybrid) scheme=hybrid ;;
    Steps:Scheme=block) [ $scheme = hybrid ] || scheme=block ;; Accuracy:Accuracy=fine) x=1 ;;
  esac
done
echo "$*" >> "$folder/runs"
[ ! -e "$folder/broken" ] || [ $scheme != hybrid ] || { echo "the disk is full"; exit 1; }
out=$(sed -n 's/^OutputDir = //p' "$word")
mkdir "$out" && awk -v scheme=$scheme -v x="$x" 'BEGIN { dh = 0.1 * 64 ^ -0.26 / 0.65
  if (scheme == "shared") { e = 1e-4 * (x / dh) ^ 2; t = 4 * dh / x }
  else if (scheme == "block") { e = 1e-6 * x ^ 2; t = 2 / x }
  else if (scheme == "hybrid") { e = 1e-5 * x ^ 2; t = 1 / x } else { e = 1e-6 * x ^ 2; t = x == 1 ? 6 : 1.5 }
  print "dE,seconds,evaluations_full,evaluations_hard,h\n-" e "," t ",64,64,0.5" }' > "$out/steps.csv"
: > "$out/snapshot_000.hdf5" && : > "$out/snapshot_001.hdf5"
printf 'step,candidate,chosen\n1,shared,0\n1,block,1\n' > "$out/choice.csv"
END_OF_PROGRAM
chmod +x schemes
tool compare-schemes "$dir/schemes" --all --models plummer6 --few --accuracy fine --table all.csv
[ $status = 0 ] && grep -qxF '| standard | block | 4.00e-06 | 4.00e-06 | 1.5 | - | 1 | - | 1.50 |' said &&
  grep -qxF '| fine | block | 1.00e-06 | 1.00e-06 | 6 | - | 2 | - | 3.00 |' said &&
    grep -qxF '| plummer6 | 1.50 | 3.00 |' said
ok $? "the program's own choice against the best scheme with the same error"
[ "$(head -1 all.csv)" = "model,particles,softening,time,scheme,label,accuracy,chosen,error,reported,true,seconds,\
soft_steps,h,evaluations_full,evaluations_hard,parameters" ] &&
  [ "$(wc -l < all.csv)" = 25 ] && [ "$(column all.csv accuracy auto | tr '\n' ' ')" = 'standard fine ' ] &&
  [ "$(column all.csv error shared | tr '\n' ' ')" = '0.0016 0.0004 0.0001 2.5e-05 ' ]
ok $? "the table of all runs"
tool compare-schemes "$dir/schemes" --all --models plummer6 --few --cpu-time --table cpu.csv
[ $status = 0 ] && column cpu.csv seconds auto | awk '{ good += $1 > 0 && $1 != 1.5 } END { exit good != 1 }'
ok $? "--cpu-time: seconds that cores were busy"
tool compare-schemes "$dir/schemes" --all --models plummer6 --few --accuracy fine --table all.csv
[ "$(grep -c 'about .* left$' err)" = 23 ] && has err '^\[1/24\] plummer6 auto, standard: ' && tail -1 err |
  grep -q '^\[24/24\]'
ok $? "how far it is, and the time that is left"
cp said before
head -10 all.csv > part.csv && : > runs
tool compare-schemes "$dir/schemes" --all --models plummer6 --few --accuracy fine --table part.csv --continue
[ $status = 0 ] && cmp -s said before && [ "$(wc -l < runs)" = 15 ] && [ "$(wc -l < part.csv)" = 25 ]
ok $? "a table is continued: only the runs that it lacks"
: > broken
tool compare-schemes "$dir/schemes" --all --models plummer6 --few --table broken.csv
[ $status = 1 ] && [ "$(wc -l < broken.csv)" = 12 ] &&
  [ "$(grep -c '^compare-schemes: plummer6, hybrid, .*: no result: the disk is full$' err)" = 12 ] &&
  grep -qF '| standard | block | 4.00e-06 |' said &&
  tail -1 err | grep -q '^compare-schemes: 12 runs have no result: see above; the others are in broken.csv$'
ok $? "runs that fail are named, the others count"
rm broken
if "$python" -c 'import h5py, numpy, matplotlib' 2> /dev/null; then
  tool compare-schemes "$dir/schemes" --all --models plummer6,hernquist6 --few --picture all.png
  [ $status = 0 ] && head -c 4 all.png | grep -q PNG
  ok $? "a panel for each model"
fi
mv schemes plain && sed 's/^  params).*/  params) exit 0 ;;/' plain > schemes && chmod +x schemes
refuses compare-schemes 'schemes has no parameter Accuracy' "$dir/schemes" --all --models plummer6 --accuracy fine

# a user's file, which the real program looks at; energies of snapshots by a program too
awk 'BEGIN { srand(2); for (i = 0; i < 64; i++) { r = 1 + 9 * rand(); a = 6.28 * rand();
  print r * cos(a), r * sin(a), rand(), -9 * sin(a), 9 * cos(a), 0, 9 } }' > disk.txt
printf '#!/bin/sh\ncase "$*" in *--check*) exec espalier "$@" ;; esac\nexec "%s" "$@"\n' "$dir/schemes" > checked
printf '#!/bin/sh\n[ $# = 2 ] || exit 1\nprintf "# time\\n0 1 -3 -2 0\\n1 1 -3 -1.5 0\\n# largest\\n"\n' > energies
chmod +x checked energies
tool compare-schemes "$dir/checked" --all --models m31 --m31 disk.txt --few --time 0.01 --true "$dir/energies" \
  --table disk.csv
[ $status = 0 ] && [ "$(column disk.csv particles auto)" = 64 ] && [ "$(column disk.csv label hybrid | wc -l)" = 12 ] &&
  has said '^m31-disk: 64 particles, softening 0.015625, time 0.0'
ok $? "a user's file"
[ "$(column disk.csv true auto)" = 0.25 ] && [ "$(column disk.csv error auto)" = 0.25 ] &&
  [ "$(column disk.csv reported auto)" = 4e-06 ]
ok $? "the error is the true one where it is measured"
tool compare-schemes "$dir/checked" --all --models m31 --m31 disk.txt --few --time 0.01 --true "$dir/energies" \
  --true-largest 63 --table disk.csv
[ $status = 0 ] && [ -z "$(column disk.csv true auto)" ] && [ "$(column disk.csv error auto)" = 4e-06 ]
ok $? "... and the reported one in larger models"

# real runs; a GPU takes direct sums for so few particles
printf '#!/bin/sh\ncase $1 in run) exec espalier "$@" -P Device:Backend=cpu ;; esac\nexec espalier "$@"\n' > on_cpu
chmod +x on_cpu
tool calibrate-accuracy "$dir/on_cpu" "$here/tests/true_energy" --models plummer6 --scans forces,shared \
  --few --time 0.0625 --snapshots 2 --table scans.csv
[ $status = 0 ] && [ "$(column scans.csv label forces | sed -n 1p)" = exact ] && [ "$(column scans.csv label forces |
  wc -l)" = 9 ] &&
  [ "$(column scans.csv step shared | tr '\n' ' ')" = '8 4 2 1 0.5 ' ] && ! column scans.csv true shared |
    grep -q '^$' &&
  has said '^| dE/E per dynamical time | forces | shared step |$'
ok $? "scans of forces and of the shared step"
column scans.csv error forces |
  awk 'NR == 2 { coarse = $1 } NR == 9 { fine = $1 } END { exit !(fine >= 0 && fine < coarse / 5) }'
ok $? "the error of the forces falls with Delta"
cp said before
tool calibrate-accuracy "$here/espalier" "$here/tests/true_energy" --models plummer6 --scans forces,shared \
  --few --time 0.0625 --snapshots 2 --table scans.csv --continue
[ $status = 0 ] && cmp -s before said && [ ! -s err ]
ok $? "a complete table needs no run"
finish
