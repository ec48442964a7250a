#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Collisions of stars in runs: lists, stops, mergers; numbers of ranks, restarts, what is refused.
. "${srcdir:-.}/tests/harness.sh"
base="Output:TimeBetStatistics=0.03125 Time:TimeMax=0.125 Gravity:Softening=0 Gravity:ErrTolForceAcc=1e-7 Split:R1=0.25
  Split:R2=1 Split:SoftStep=0.0078125 Split:Kernel=septic Steps:Integrator=hermite Steps:Eta=0.1 Device:Backend=cpu
  Output:OutputDir=out $hybrid"
stars="$base Input:InitCondFile=../stars.txt Collisions:Radius=1e-3 Collisions:Mass=0.25 Collisions:Exponent=0"
# system LINE...: these stars, and a ring of others
system() {
  { printf '%s\n' "$@"
    awk 'BEGIN { for (i = 0; i < 20; i++) printf "%.6f %.6f %.6f 0 0 0 0.0625\n", 3 * cos(i), 3 * sin(i), 0.1 * i - 1 }'
  } > stars.txt
}
met() { rows "$1/out/collisions.csv" | tail -n +2 | grep -c .; }                       # NAME
column() { columns "$1/out/$2.csv" "$3"; }                                             # NAME TABLE COLUMN
# the total energy with what mergers have taken out changes by less than LIMIT of what it was
closes() {
  columns "$1/out/energy.csv" total energy_lost | awk -v limit="$2" 'NR == 1 { first = $1 } { last = $1 + $2 }
    END { d = last / first - 1; exit !(NR > 1 && d < limit && d > -limit) }'
}
# --- one pair ---
two='0.05 0 0 0 0.1 0 0.25
-0.05 0 0 0 -0.1 0 0.25'
system "$two"
parameters run.ini $stars
go off 1 -P Collisions:Action=off
ends 0 && [ ! -e off/out/collisions.csv ] && [ "$(column off energy energy_lost | sort -u)" = 0 ]
ok $? "without Action there is no table, and no energy is lost"
for ranks in 1 2 3; do
  go plain $ranks --overwrite -P Collisions:Action=off && go list $ranks --overwrite -P Collisions:Action=list
  ends 0 && [ "$(met list)" = 1 ] && [ "$(column list collisions id_1) $(column list collisions id_2)" = '1 2' ] &&
    [ "$(column list collisions action)" = list ] && same_rows list/out/energy.csv plain/out/energy.csv
  ok $? "list, $ranks ranks: one row, and the orbits of a run without"
done
go stop 1 -P Collisions:Action=stop
ends 0 && has stop/log '^interrupted (stars 1 and 2 collided at time 0.0498' && reports stop state=interrupted &&
  reports stop 'reason=stars 1 and 2 collided at time 0.0498[0-9]*' && [ "$(met stop)" = 1 ]
ok $? "stop: the run ends in that soft step, and says who and when"
go stop 1 -r -P Collisions:Action=stop
ends 0 && reports stop state=finished && [ "$(met stop)" = 1 ] && same_rows stop/out/energy.csv off/out/energy.csv
ok $? "it goes on with --restart, and the row stays"
for ranks in 1 2 3; do
  go merge $ranks --overwrite -P Collisions:Action=merge
  ends 0 && [ "$(met merge)" = 1 ] && [ "$(column merge collisions action)" = merged ] && closes merge 2e-6 &&
    has merge/log '^done' && [ "$(column merge collisions mass_1)" = 0.25 ]
  ok $? "merge, $ranks ranks: the energy closes with what is lost"
done
holds "$(column merge collisions energy_lost) < -0.6"
ok $? "a bound pair takes its binding energy with it"

system '0.0005 0 0 0 12 0 0.25
-0.0005 0 0 0 -12 0 0.25'
parameters run.ini $stars Collisions:Action=list
go touch 1
ends 0 && [ "$(met touch)" = 1 ] && has touch/log '^collisions: 1, 0 of them mergers'
ok $? "a pair in contact has one row"
parameters run.ini $stars Collisions:Action=stop
go stay 1
ends 0 && reports stay state=interrupted && go stay 2 -r && ends 0 && reports stay state=finished &&
  [ "$(met stay)" = 1 ]
ok $? "and stops the run once"
system "$two"

# --- a cluster ---
model plummer -n 256 --binaries 1 --binary-min 1e-5 --binary-max 1e-2 -s 2
parameters run.ini $base Input:InitCondFile=../ic.hdf5 Split:R1=0.04 Split:R2=0.16 Time:TimeMax=0.25 \
  Collisions:Action=merge Collisions:Radius=1e-5 Collisions:Mass=0.00390625 Checkpoints:CheckpointAtEnd=on
for ranks in 1 2 3; do
  go "cluster$ranks" $ranks
  ends 0 && closes "cluster$ranks" 3e-6 && [ "$(met "cluster$ranks")" -gt 20 ]
  ok $? "a cluster of binaries on $ranks ranks: $(met "cluster$ranks") mergers, and the energy closes"
  columns "cluster$ranks/out/collisions.csv" id_1 id_2 mass_1 mass_2 | sort > "found$ranks"
done
cmp found1 found2 && cmp found1 found3
ok $? "all ranks find the same collisions"
columns cluster1/out/energy.csv momentum_x momentum_y momentum_z > momenta
awk '{ for (k = 1; k <= 3; k++) if ($k > 1e-12 || $k < -1e-12) exit 1 }' momenta
ok $? "the momentum stays 0"
go info 1 --check -P Input:InitCondFile=../cluster1/out/snapshot_001.hdf5 -P Time:TimeMax=1
[ "$(sed -n 's/^initial conditions .*, \([0-9]*\) particles.*/\1/p' info/log)" = $((256 - $(met cluster1))) ]
ok $? "the last snapshot has one particle less for each"
times=$(column cluster1 collisions time | sort -g)
[ "$times" = "$(column cluster1 collisions time)" ]
ok $? "rows are in the order of their times"
if "$src/tools/espalier-plot" --find > /dev/null 2>&1; then
  "$src/tools/espalier-plot" cluster cluster1/out -o cluster.png > plots 2>&1
  sed -n 's/.*largest |dE\/E| \([^ ]*\) (energy.csv),.* \([^ ]*\) (true).*/\1\n\2/p' plots |
    awk '{ if (!($1 < 3e-6)) exit 1 } END { exit NR != 2 }'
  ok $? "so do the errors in pictures, of the table and of snapshots"
else skip "pictures" "no python3 with h5py, numpy and matplotlib"; fi

# --- restarts ---
go part 1 -P Time:TimeMax=0.125
ends 0 && cp -r part again && go part 1 -r && ends 0 && go again 3 -r && ends 0 &&
  for name in part again; do
    columns $name/out/collisions.csv id_1 id_2 mass_1 mass_2 | sort | cmp - found1 && closes $name 3e-6 || break
  done
ok $? "a restart finds the same, also on 3 ranks, and keeps the rows and what was lost"

# --- on devices ---
if espalier info | grep -q 'cuda *device'; then
  for ranks in 1 2; do
    go "device$ranks" $ranks -P Device:Backend=cuda
    columns "device$ranks/out/collisions.csv" id_1 id_2 mass_1 mass_2 | sort | cmp - found1 &&
      ends 0 && closes "device$ranks" 3e-6
    ok $? "a device finds the same, $ranks ranks"
  done
else echo "# no device: tried on CPUs alone"; fi

# --- several mergers of one star in a soft step ---
system '0 0 0 0 0 0 0.25
0.003 0 0 0 0 0 0.25
0.0015 0.012 0 0 -2 0 0.3'
sed 's/0\.0625$/0.15/' stars.txt > heavier.txt && mv heavier.txt stars.txt
parameters run.ini $stars Collisions:Action=merge Time:TimeMax=0.0078125
go three 1
ends 0 && [ "$(met three)" = 2 ] && [ "$(column three collisions mass_1)" = '0.25
0.5' ]
ok $? "three stars become one in a soft step"
[ "$(column three collisions id_1)" = '1
1' ] && if "$src/tools/espalier-plot" --find > /dev/null 2>&1; then
  "$("$src/tools/espalier-plot" --find)" - three/out/snapshot_001.hdf5 << 'END'
import h5py, sys
ids = h5py.File(sys.argv[1])["PartType1/ParticleIDs"][:]
sys.exit(1 not in ids or 2 in ids or 3 in ids)
END
fi
ok $? "with the id of the one that was the heavier when they met"
system '0.0015848563153 0.00286836185233 -0.00970222038982 -3.1563225579 -4.10605496791 5.02945886216 0.20823007822
-0.000817032289262 -0.00739455558092 -0.00231749127776 3.1347786672 -6.082286601 1.96252778122 0.218418389559
0.00339457202819 0.00380472744917 0.00441915691523 7.4054545361 11.5819374257 -5.30232602868 0.214289173484
-0.00611204959987 0.000647754728724 0.00610463993552 -1.28832258723 2.29531888202 0.45344236101 0.27579548955
0.00698306737183 -0.000128668231497 -0.00272739594026 -5.72670054962 -10.0501668712 -6.05679301847 0.108061596751
0.000651112698742 0.000472101222361 0.00238217682596 -8.00180356474 1.93232497317 2.37154924772 0.0800083056092'
parameters run.ini $stars Collisions:Action=merge Collisions:Radius=8e-4 Collisions:Exponent=0.8
go six 1
ends 0 && [ "$(met six)" -gt 2 ] && closes six 1e-2
ok $? "six stars that fall on each other go on as few"

# --- one passage over the end of a soft step; tables that a restart finds ---
system '-0.019875 0 0 0 -1.5283889657216745 0 0.125
-0.010125 0 0 0 -0.39611193157707825 0 0.125
0.03 0 0 0 1.9245008972987527 0 0.125'
parameters run.ini $stars Collisions:Action=stop Collisions:Radius=1.4e-4 Split:SoftStep=0.0022256 \
  Time:TimeMax=0.0044512
go over 1
ends 0 && reports over state=interrupted && go over 1 -r && ends 0 && reports over state=finished &&
  [ "$(met over)" = 1 ]
ok $? "a passage over the end of a soft step is one collision"
system "$two"
parameters run.ini $stars Collisions:Action=merge Checkpoints:CheckpointAtEnd=on
go later 1 -P Time:TimeMax=0.0625
go later 1 -r -P Time:TimeMax=0.09375 -P Collisions:Action=off
go later 1 -r -P Collisions:Action=merge
ends 0 'was no table of the run when the checkpoint was written' &&
  [ "$(rows later/out/collisions-before-step-*.csv | tail -n +2 | grep -c .)" = 1 ]
ok $? "rows of a table that a checkpoint does not know are kept"

# --- mergers until stars form no units ---
system '0.05 0 0 0 0 0 0.25
-0.05 0 0 0 0 0 0.25'
sed 's/0\.0625$/0.001/' stars.txt > light.txt && mv light.txt stars.txt
parameters run.ini $stars Collisions:Action=merge
go hub 1
ends 0 'heavy as any other' && has hub/log '^interrupted (collisions cannot be found any more)' && [ "$(met hub)" = 1 ]
ok $? "a star that is much heavier than the others ends the run"
go hub 1 -r
ends 1 'Action = merge: a particle (mass 0.5) is more than 10 times as heavy'
ok $? "and no restart is made with mergers"
go hub 1 -r -P Collisions:Action=off
ends 0 && reports hub state=finished
ok $? "but without"

# --- what is refused ---
system "$two"
parameters run.ini $stars Collisions:Action=list
refused "Radius = 0 (-P) and Action = list (line [0-9]*): expected the radius of a star" -P Collisions:Radius=0
refused 'Mass = 0 (-P) and Action = list (line [0-9]*): expected the mass of a star' -P Collisions:Mass=0
refused 'Action = list and Softening = 0.01 (-P): expected Softening = 0' -P Gravity:Softening=0.01
refused 'Action = list and Integrator = leapfrog (-P): expected Integrator = hermite' \
  -P Steps:Integrator=leapfrog -P Steps:Criterion=pairs
refused 'Radius = 0.1: two stars would touch at a distance of up to 0.2, expected at most 0.0125, a 20th of R1 = 0.25' \
  -P Collisions:Radius=0.1
refused 'Radius = 0.1: two stars would touch' -P Collisions:Radius=0.1 --check
refused 'Action=swallow: expected one of off, list, stop or merge' -P Collisions:Action=swallow
refused 'Action = list: a type of particles has a softening of 0.01' -P Gravity:SofteningType1=0.01
sed 's/0\.0625$/0.001/; 2d' stars.txt > hub.txt
refused 'Action = list: a particle (mass 0.25) is more than 10 times as heavy' -P Input:InitCondFile=../hub.txt
parameters run.ini $stars
refused 'run.ini:[0-9]*: Radius = 0.001 and Action = off (default): expected Action = list, stop or merge'
finish
