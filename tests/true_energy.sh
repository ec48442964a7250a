#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tests/true_energy: a Kepler pair of known energy, snapshots of a run beside its energy.csv, --max, and a sentence for
# bad input.
. "${srcdir:-.}/tests/harness.sh"
export OMP_NUM_THREADS=2

# energy ARGUMENT...: runs the program; $status
energy() {
  try timeout 60 "$here"/tests/true_energy "$@"
}
# near COLUMN LINE EXPECTED TOLERANCE: a number of the table, LINE counted without comments
near() {
  awk -v column="$1" -v line="$2" -v x="$3" -v tolerance="$4" '
    !/^#/ && ++n == line { found = 1; d = $column - x; good = d * d <= tolerance * tolerance * x * x }
    END { exit !(found && good) }' said
}
# refuses TEXT FRAGMENT ARGUMENT...: status 1 and one sentence
refuses() {
  words=$1 fragment=$2
  shift 2
  says 1 "^true_energy: .*$fragment" -- energy "$@" && [ "$(wc -l < err)" = 1 ]
  ok $? "$words"
}

# Masses 3/4 and 1/4, semi-major axis 1e-4, eccentricity 0.9, at the pericentre and at the apocentre; the centre of mass
# is at (1, 2, 3) and moves at 1/2: E = - 3/16 / (2 a) + 1/8.
awk -v dir="$dir" 'BEGIN { OFMT = CONVFMT = "%.17g"
  for (k = 0; k < 2; k++) { r = 1e-4 * (k ? 1.9 : 0.1); v = sqrt(2 / r - 1e4);
    file = dir "/" (k ? "far" : "near") ".txt"
    print 1 + r / 4, 2, 3, 0.5, v / 4, 0, 0.75 > file
    print 1 - 0.75 * r, 2, 3, 0.5, -0.75 * v, 0, 0.25 > file } }'
says 0 -- energy -s 0 -g 1 near.txt far.txt && near 4 1 -937.375 1e-9 && near 4 2 -937.375 1e-9 &&
  near 3 1 -18750 1e-9 && near 2 2 "$(awk 'BEGIN { print 1 / 8 + 3 / 32 * (2 / 1.9e-4 - 1e4) }')" 1e-5
ok $? "a Kepler pair"
says 0 -- energy --softening=1e-5 --gravity=1 near.txt && near 3 1 -13258.252147247767 1e-9
ok $? "softened by as much as it is apart"
says 0 -- energy -s 0 -g 2 -m 1e-9 near.txt near.txt && near 3 2 -37500 1e-9
ok $? "another gravitational constant, no error"
refuses "an error above --max" 'largest |dE/E| is .*, and at most 1.000e-03' -s 0 -g 2 -m 1e-3 near.txt far.txt

model plummer -n 500
parameters run.ini Output:OutputDir=run Output:TimeBetSnapshot=0.0625 Time:TimeMax=0.125 Gravity:Softening=0.03
check "a run" try espalier run -P Output:NumFilesPerSnapshot=2 run.ini
energy --max 1e-3 run/snapshot_00?.hdf5
total=$(awk -F, '/^time/ { for (i = 1; i <= NF; i++) if ($i == "total") c = i } /^0,/ { print $c }' run/energy.csv)
[ $status = 0 ] && near 4 1 "$total" 1e-3 && near 1 2 0.0625 1e-9 && near 1 3 0.125 1e-9 &&
  has said 'softening 0.03, G 1$'
ok $? "its snapshots: softening and gravitational constant are theirs, the energy is that of energy.csv"
sed -n 2p said > two
OMP_NUM_THREADS=1 energy run/snapshot_000.hdf5
sed -n 2p said | cmp -s - two
ok $? "the same digits on one thread"

cat near.txt near.txt > same.txt
head -c 3000 ic.hdf5 > cut.hdf5
refuses "particles at the same place" 'same.txt has particles at the same place' -s 0 -g 1 same.txt
energy -s 1e-5 -g 1 same.txt
ok $status "with softening they are finite"
refuses "no file" 'absent.hdf5' absent.hdf5
refuses "a damaged file" 'cut.hdf5' cut.hdf5
refuses "no gravitational constant" 'near.txt does not state the gravitational constant: give --gravity' -s 0 near.txt
refuses "no softening length" 'near.txt does not state the softening length: give --softening' -g 1 near.txt
refuses "another softening length" 'snapshot_000.hdf5 states softening 0.03 .*: give --softening' ic.hdf5 \
  run/snapshot_000.hdf5
for words in "-s -1 x" "-m" "-g 0 x" "-s nan x" "" "--steps x"; do
  check "a wrong command line: $words" says 2 '^usage: true_energy' -- energy $words
done
finish
