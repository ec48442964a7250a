#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs of a star cluster without softening, with two masses and two hard binaries: true energies on one rank and three, bound pairs in
# steps.csv, restarts on the same ranks (the same bits) and on others. tests/slow/clusters.sh has the accuracy of larger ones.
. "${srcdir:-.}/tests/tap.sh"
new_folder
shown="$dir/log" limit=200
export OMP_NUM_THREADS=1 SOURCE_DATE_EPOCH=1700000000
with_python "h5py"
"$here/espalier" ic plummer -n 800 -s 3 --mass-function two --binaries 0.0026 --binary-min 1e-4 --binary-max 1e-4 --eccentricity 0.9 -o ic.hdf5 > log 2>&1 ||
  exit 99
for_model 0.0625 0.125 > run.ini
cat >> run.ini << END_OF_INI
[Gravity]
Softening = 0
MultipoleOrder = 2
ErrTolForceAcc = 0.0001
[Split]
Mode = hybrid
Kernel = septic
R1 = 0.05
R2 = 0.2
SoftStep = 0.0078125
[Steps]
Scheme = block
Integrator = hermite
Eta = 0.1
[Device]
Backend = cpu
Tuning = frozen
END_OF_INI
# go FOLDER RANKS ARGUMENT...: a run; $status
go() {
  folder=$1 ranks=$2
  shift 2
  launch "$ranks" run -q run.ini -P Output:OutputDir="$folder" "$@" > log 2>&1
  status=$?
}
# true_energy FOLDER TEXT: its largest error is below the limit
true_energy() {
  "$here/tests/true_energy" --max 5e-6 "$1"/snapshot_00[0-2].hdf5 > log 2>&1 < /dev/null
  ok $? "$2: true energies ($(sed -n 's/^# largest //p' log))"
}
# numbers FOLDER: steps, and those with the two pairs, whose period is 2 pi sqrt(a^3 / (G m)) of pairs of either mass, and e = 0.9
numbers() {
  awk -F, '/^step/ { for (i = 1; i <= NF; i++) at[$i] = i; next } /^#/ { next }
    { n++; pairs += $at["binaries"] == 2 && $at["shortest_period"] < 1.6e-4 && $at["shortest_period"] > 3e-5 &&
        ($at["largest_eccentricity"] - 0.9) ^ 2 < 1e-4 && $at["neighbours"] > 2 && $at["neighbours"] < 100 && $at["hard_steps"] > 800 }
    END { print n, pairs }' "$1/steps.csv"
}

go one 1
[ $status = 0 ] && [ "$(numbers one)" = "16 16" ]
ok $? "steps.csv: two bound pairs in each soft step ($(numbers one))"
true_energy one "one rank"
go three 3
[ $status = 0 ] && [ "$(numbers three)" = "16 16" ]
ok $? "three ranks find the same pairs ($(numbers three))"
true_energy three "three ranks"
for ranks in 1 3; do
  go parts$ranks $ranks -P Checkpoints:CheckpointAtEnd=on -n 5 && [ $status = 0 ] && go parts$ranks $ranks -r && [ $status = 0 ] &&
    { whole=one; [ $ranks = 1 ] || whole=three; grep -v '^#' $whole/energy.csv > a; grep -v '^#' parts$ranks/energy.csv | cmp - a >> log 2>&1; } &&
    { [ -z "$python" ] || "$python" "$same" $whole/snapshot_002.hdf5 parts$ranks/snapshot_002.hdf5 >> log 2>&1; }
  ok $? "a restart on $ranks rank(s) has the same bits"
done
go other 3 -P Checkpoints:CheckpointAtEnd=on -n 5 && [ $status = 0 ] && go other 2 -r
# counts of the soft step under way are those of a rank, and other ranks do not have them
[ $status = 0 ] && [ "$(numbers other)" = "16 15" ]
ok $? "a restart on two ranks of a checkpoint of three ($(numbers other))"
true_energy other "three ranks, then two"
# Time steps by pairs: the same steps and nearly the same energies on 1, 2 and 3 ranks; a restart has the same bits.
for ranks in 1 2 3; do
  go pairs$ranks $ranks -P Steps:Integrator=leapfrog -P Steps:Criterion=pairs -P Steps:Eta=0 && [ $status = 0 ] && [ "$(numbers pairs$ranks)" = "16 16" ]
  ok $? "time steps by pairs on $ranks rank(s): two bound pairs in each soft step ($(numbers pairs$ranks))"
  true_energy pairs$ranks "time steps by pairs on $ranks rank(s)"
done
if [ -n "$python" ]; then
  "$python" - pairs1 pairs2 pairs3 > log 2>&1 << 'END_OF_PYTHON'
import h5py, numpy, sys
def read(folder):
    with h5py.File(folder + "/snapshot_002.hdf5") as f:
        part = f["PartType1"]
        order = numpy.argsort(part["ParticleIDs"][:])
        return part["Coordinates"][:][order]
first = read(sys.argv[1])
for folder in sys.argv[2:]:
    apart = numpy.abs(read(folder) - first).max(axis=1)
    print(folder, numpy.median(apart), numpy.sort(apart)[-8:])
    assert numpy.median(apart) < 1e-6 and (apart > 1e-4).sum() <= 8   # members of binaries have other phases
END_OF_PYTHON
  ok $? "positions on 1, 2 and 3 ranks agree"
fi
go cut 1 -P Steps:Integrator=leapfrog -P Steps:Criterion=pairs -P Steps:Eta=0 -P Checkpoints:CheckpointAtEnd=on -n 5 && [ $status = 0 ] &&
  go cut 1 -r -P Steps:Integrator=leapfrog -P Steps:Criterion=pairs -P Steps:Eta=0 && [ $status = 0 ] &&
  { grep -v '^#' pairs1/energy.csv > a; grep -v '^#' cut/energy.csv | cmp - a >> log 2>&1; }
ok $? "time steps by pairs: a restart has the same bits"
# A softened sphere that falls together: R2 by its rule becomes smaller, and the energy is that of the new radii at once.
"$here/espalier" ic uniform --virial-ratio 0 -n 400 -o cold.hdf5 > log 2>&1 || exit 99
for ranks in 1 2; do
  go cold$ranks $ranks -P Input:InitCondFile=cold.hdf5 -P Split:R1=0 -P Split:R2=0 -P Split:SoftStep=0.0625 -P Gravity:Softening=0.003 -P Time:TimeMax=3 -P Output:TimeBetSnapshot=3
  [ $status = 0 ] && changes=$(awk -F, '/^step/ { for (i = 1; i <= NF; i++) at[$i] = i; next } /^#/ { next }
    { if (n++ && $at["R2"] < 0.9 * r) changes++; r = $at["R2"]; if ($at["dE"] ^ 2 > 1e-6) bad = 1 } END { print bad ? 0 : changes + 0 }' cold$ranks/steps.csv) && [ "$changes" -ge 1 ]
  ok $? "R2 changes ($changes times), and the energy does not, on $ranks rank(s)"
done
echo "1..$number"
exit $failed
