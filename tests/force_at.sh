#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier force --at: acceleration and potential at points, of a point mass by its formula, of a sphere by direct sums;
# on 1 to 3 ranks; text, HDF5 and CSV; bad input.
. "${srcdir:-.}/tests/harness.sh"
shown="err"
# field_of FILE SOFTENING G: the parameter file
field_of() {
  parameters run.ini Input:InitCondFile="$1" Gravity:Softening="$2" Units:GravityConstantInternal="$3" \
    Device:Backend=cpu \
    Split:Mode=tree
}
# at RANKS OPTION...: status; words in out and err
at() {
  ranks=$1
  shift
  try launch "$ranks" force "$@" run.ini
}
# A point of mass 3 that moves, far from the origin
echo '100 -50 20 7 0 0 3' > point.txt
awk 'BEGIN { s = 5; for (i = 0; i < 40; i++) { for (k = 0; k < 3; k++) { s = (s * 16807) % 2147483647;
  x[k] = 4 * s / 2147483647 - 2 }
  printf "%.15g, %.15g %.15g # point %d\n", 100 + x[0], x[1] - 50, 20 + x[2], i } }' > points.txt
# formula FILE TOLERANCE: rows of a CSV file have a = -G m d / (d^2 + eps^2)^(3/2), potential = -G m / rho
formula() {
  rows "$1" | awk -F, -v most="$2" 'NR == 1 { bad += $0 != "x,y,z,acc_x,acc_y,acc_z,potential"; next }
    { d[0] = $1 - 100; d[1] = $2 + 50; d[2] = $3 - 20; rho = sqrt(d[0] ^ 2 + d[1] ^ 2 + d[2] ^ 2 + 0.01)
      for (k = 0; k < 3; k++) { e = $(4 + k) + 6 * d[k] / rho ^ 3; e = (e < 0 ? -e : e) * rho * rho / 6;
        if (e > worst) worst = e }
      e = $7 * rho / 6 + 1; e = e < 0 ? -e : e; if (e > worst) worst = e }
    END { printf "# %d points, at most %.1e\n", NR - 1, worst; exit !(NR == 41 && !bad && worst < most) }'
}
field_of point.txt 0.1 2
for ranks in 1 2 3; do
  at $ranks --at points.txt -o tree-$ranks.csv && formula tree-$ranks.csv 2e-6
  ok $? "the force of a moving point mass far away, by the tree on $ranks ranks"
  at $ranks --at points.txt --exact -o exact-$ranks.csv && formula exact-$ranks.csv 1e-11
  ok $? "by direct sums"
done
at 1 --at points.txt && cp said shown.csv && formula shown.csv 2e-6
ok $? "without a file the table is on the terminal"

# A sphere of 2048 particles: the tree has the error of its criterion
model plummer -n 2048
awk 'BEGIN { s = 7; for (i = 0; i < 3000; i++) { for (k = 0; k < 3; k++) { s = (s * 16807) % 2147483647;
  x[k] = 2 * s / 2147483647 - 1 }
  print x[0], x[1], x[2] } }' > many.txt
field_of ic.hdf5 0.02 1
check "direct sums at 3000 points" at 2 --at many.txt --exact -o direct.csv
# compare FILE LIMIT: against direct.csv: median and largest relative error of accelerations
compare() {
  grep -v -e '^#' -e '^x' direct.csv > one
  grep -v -e '^#' -e '^x' "$1" | paste -d, one - |
    awk -F, '{ a = sqrt($4 ^ 2 + $5 ^ 2 + $6 ^ 2); e = sqrt(($4 - $11) ^ 2 + ($5 - $12) ^ 2 + ($6 - $13) ^ 2) / a
    p = $14 / $7 - 1; print e, p < 0 ? -p : p, ($1 != $8) + ($2 != $9) + ($3 != $10) }' | sort -g | awk -v limit="$2" '
    { e[NR] = $1; if ($2 > p) p = $2; moved += $3 }
    END { printf "# median %.1e, largest %.1e, of the potential %.1e\n", e[int(NR / 2)], e[NR], p
      exit !(NR == 3000 && moved == 0 && e[int(NR / 2)] < limit && e[NR] < 50 * limit && p < 10 * limit) }'
}
for ranks in 1 2 3; do
  at $ranks --at many.txt -o tree.csv --overwrite && compare tree.csv 1e-4
  ok $? "the tree on $ranks ranks has them within the error of the criterion"
done
at 2 --at many.txt -o fine.csv -P Gravity:ErrTolForceAcc=1e-7 && compare fine.csv 3e-6
ok $? "and with a smaller ErrTolForceAcc within less"
at 2 --at many.txt -o hybrid.csv -P Split:Mode=hybrid && compare hybrid.csv 1e-4
ok $? "with the split too"

if with_python "h5py, numpy"; then
  judge make_points many.txt points.hdf5
  at 2 --at points.hdf5 --exact -o direct.hdf5 && at 1 --at points.hdf5:/a/b -o tree.h5 &&
    judge forces direct.csv direct.hdf5 tree.h5
  ok $? "points and results as HDF5 datasets"
  while read -r set words; do
    says 1 "^espalier: error: .*$words" -- at 1 --at "points.hdf5:$set" -o bad.csv && [ ! -e bad.csv ]
    ok $? "bad dataset: $set"
  done << END
flat has not the shape N x 3
text does not hold numbers
nan point 17 is (.*nan
hole hole
none has no points
other has no dataset other
END
else
  echo "# no python3 with h5py and numpy: HDF5 is not tried"
fi

# bad NAME TEXT: refused in one sentence with the exit status 1, and no file is written
bad() {
  says 1 "^espalier: error: $2" -- at 2 --at "$1" -o bad.csv && [ "$(grep -c '^espalier:' err)" = 1 ] &&
    [ ! -e bad.csv ]
  ok $? "$3"
}
echo '1 2' > two.txt
echo '1 2 3 4' > four.txt
printf '0 0 0\n0 inf 0\n' > inf.txt
echo '# nothing' > empty.txt
bad missing.txt 'missing.txt: No such file' "a missing file"
bad two.txt 'two.txt:1: 2 numbers; expected three' "two numbers"
bad four.txt 'four.txt:1: 4 numbers; expected three' "four numbers"
bad inf.txt "inf.txt:2: 'inf' in column 2 is not a finite number" "infinity"
bad empty.txt 'empty.txt has no points' "no points"
bad two.txt:x "two.txt is no HDF5 file, and has no dataset 'x'" "a dataset of a text file"
bad run.ini "run.ini:1: '\[Input\]' in column 1 is not a finite number" "another file"
echo old > kept.csv
says 1 'kept.csv: already exists' -- at 1 --at many.txt -o kept.csv && [ "$(cat kept.csv)" = old ]
ok $? "an existing file is kept"
for options in '--exact' '--at many.txt --bench' '--at many.txt --direct 10' '--at many.txt --delta 5:6'; do
  check "$options: refused" says 2 'option --' -- at 1 $options
done
# without softening, at the place of a particle
field_of point.txt 0 2
echo '100 -50 20' >> points.txt
says 1 'particles 1 and 42 are at the same place, (100, -50, 20).*(particle 2 stands for the first point' -- \
  at 2 --at points.txt -o bad.csv -P Split:Mode=hybrid -P Steps:Integrator=hermite && [ ! -e bad.csv ]
ok $? "without softening no point may be at the place of a particle"
finish
