#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier-convert: parameter files of GADGET-2 and GADGET-4.
. "${srcdir:-.}/tests/harness.sh"
command -v python3 > /dev/null 2>&1 || skip_all "no python3"
tool=$src/tools/espalier-convert
# The files are written by the documentation of these codes.
cat > two.param << 'END'
% isolated galaxies
InitCondFile   ics.dat
OutputDir      run/
SnapshotFileBase snap
EnergyFile     energy.txt
ICFormat       2
SnapFormat     1
TimeLimitCPU   36000
CpuTimeBetRestartFile 7200
ComovingIntegrationOn 0
TypeOfTimestepCriterion 0
OutputListOn   0
OutputListFilename list.txt
PeriodicBoundariesOn 0
TimeBegin      0.0
TimeMax        3.0   and here stands a comment
Omega0         0
OmegaLambda    0
HubbleParam    1.0
BoxSize        0
TimeBetSnapshot 0.5
TimeOfFirstSnapshot 0
TimeBetStatistics 0.05
NumFilesPerSnapshot 2
ErrTolIntAccuracy 0.02   % eta
MaxSizeTimestep 0.01
MinSizeTimestep 0
ErrTolTheta    0.5
TypeOfOpeningCriterion 1
ErrTolForceAcc 0.005
DesNumNgb      50
PartAllocFactor 1.5
UnitLength_in_cm 3.085678e24
UnitMass_in_g  1.989e33
UnitVelocity_in_cm_per_s 2e5
GravityConstantInternal 0
SofteningGas   0
SofteningHalo  1.0
SofteningDisk  0.4
SofteningBulge 0.4
SofteningStars 0
SofteningBndry 0
END
lines() { for line in "$@"; do grep -qx -e "$line *\(;.*\)\?" ini || { echo "# '$line' is missing"; return 1; }; done; }
without() { lacks ini "^$1 "; }
convert() { try "$tool" --overwrite -o ini "$@"; }
shown="ini said err"
check "a file of GADGET-2" convert two.param
lines 'InitCondFile = ics.dat' 'ICFormat = gadget2' 'OutputDir = run' 'SnapshotFileBase = snap' \
  'TimeBetCheckpoints = 120' 'TimeBegin = 0' 'TimeMax = 3' 'TimeBetSnapshot = 0.5' \
  'TimeBetStatistics = 0.05' 'NumFilesPerSnapshot = 2' 'MaxSizeTimestep = 0.01' && without OutputListFilename &&
    without Comoving && without Omega0
ok $? "... files and times; seconds become minutes"
lines 'UnitLength_in_cm = 3.085678e+24' 'UnitMass_in_g = 1.989e+33' 'UnitVelocity_in_cm_per_s = 200000' \
  'GravityConstantInternal = 0'
ok $? "... units"
lines 'Softening = 1' 'SofteningType1 = 1' 'SofteningType2 = 0.4' 'SofteningType3 = 0.4' && without SofteningType0
ok $? "... softenings of types"
lines 'TypeOfOpeningCriterion = acceleration' 'ErrTolForceAcc = 0.005' 'ErrTolTheta = 0.5' 'Scheme = block' \
  'Criterion = a' 'Eta = 0.2'
ok $? "... tolerances; Eta is sqrt(2 ErrTolIntAccuracy)"
cut -d : -f 1,2,3 err | sed 's/ = .*//' | tr '\n' ' ' > list
[ "$(cat list)" = "two.param:5: EnergyFile two.param:7: SnapFormat two.param:8: TimeLimitCPU two.param:31: DesNumNgb \
two.param:32: PartAllocFactor two.param:37,41,42: SofteningGas, SofteningStars, SofteningBndry " ] &&
  has err 'walltime 10:00:00' && has err '^two.param:31: DesNumNgb = 50: gas feels only gravity here$' &&
    [ "$(wc -l < err)" = 6 ]
ok $? "... what has no counterpart is named with its line and the reason"
has ini '^TimeBetCheckpoints = 120   ; minutes; ' && without HubbleParam
ok $? "... a unit that is another one is named; a Hubble parameter of 1 is no cosmology"
sed 's/^DesNumNgb.*/&\nMaxNumNgbDeviation 2\nArtBulkViscConst 0.8/' two.param > gas.param
convert gas.param
has err '^gas.param:31,32,33: DesNumNgb, MaxNumNgbDeviation, ArtBulkViscConst: gas feels only gravity here$' &&
  has said '; 10 without a counterpart'
ok $? "... those with one reason have one line"
# the new file is one that runs
model plummer -n 1000 -o ics.hdf5
sed 's/^InitCondFile.*/InitCondFile ics/; s/^ICFormat.*/ICFormat 3/; s/^GravityC.*/GravityConstantInternal 1/
  s/^TimeMax.*/TimeMax 0.02/; s/^TimeBetSn.*/TimeBetSnapshot 0.01/' two.param > short.param
convert short.param && lines 'InitCondFile = ics.hdf5' 'ICFormat = hdf5' && try espalier run ini &&
  has said '^done: time 0.02' && [ -f run/snap_002.hdf5 ]
ok $? "... the run that it describes runs; HDF5 files get their ending"
sed 's/^TimeOfFirst.*/TimeOfFirstSnapshot 0.2/' two.param > first.param
convert first.param && [ "$(tr '\n' ' ' < ini-times.txt)" = "0.2 0.7 1.2 1.7 2.2 2.7 " ] &&
  lines 'OutputListFilename = ini-times.txt' && without TimeBetSnapshot
ok $? "another first time: a list of times"
sed 's/^OutputListOn.*/OutputListOn 1/' two.param > listed.param
convert listed.param && lines 'OutputListFilename = list.txt' && without TimeBetSnapshot
ok $? "the times of a list"

cat > four.param << 'END'
InitCondFile   ics_sphere
OutputDir      out
SnapshotFileBase snap
ICFormat 3
SnapFormat 3
TimeLimitCPU 40000
MaxMemSize 2000
TimeBegin 0.05
TimeMax 1.0
ComovingIntegrationOn 1
BoxSize 0
Omega0 0.3
OmegaLambda 0.7
HubbleParam 0.7
Hubble 100
UnitLength_in_cm 3.085678e24
UnitMass_in_g  1.989e43
UnitVelocity_in_cm_per_s 1e5
TimeOfFirstSnapshot 0.1
TimeBetSnapshot 1.5
ErrTolIntAccuracy 0.025
MaxSizeTimestep 0.02
TypeOfOpeningCriterion 0
ErrTolTheta 0.6
SofteningClassOfPartType0 0
SofteningClassOfPartType1 1
SofteningClassOfPartType2 1
SofteningComovingClass0 2.0
SofteningComovingClass1 5.0
SofteningMaxPhysClass0 2.0
SofteningMaxPhysClass1 1.0
END
convert four.param &&
  lines 'Comoving = on' 'Omega0 = 0.3' 'OmegaLambda = 0.7' 'HubbleParam = 0.7' 'TypeOfOpeningCriterion = angle' \
    'ErrTolTheta = 0.6' 'InitCondFile = ics_sphere.hdf5'
ok $? "a comoving file of GADGET-4"
lines 'Softening = 5' 'SofteningType0 = 2' 'SofteningType1 = 5' 'SofteningType2 = 5' &&
  [ "$(grep -c '^four.param:31: SofteningMaxPhysClass1 = 1.0: ' err)" = 1 ] && ! grep -q Class0 err
ok $? "... classes of softenings; largest physical lengths have no counterpart"
[ "$(tr '\n' ' ' < ini-times.txt)" = "0.1 0.15 0.225 0.3375 0.50625 0.759375 " ]
ok $? "... times by factors"

# a byte order mark; Python's own modules are enough
mkdir modules && for module in h5py numpy; do echo "raise SystemExit('$module')" > modules/$module.py; done
{ printf '\357\273\277' && sed 1d two.param; } > mark.param
PYTHONPATH=$dir/modules convert mark.param && lines 'InitCondFile = ics.dat' 'OutputDir = run'
ok $? "a byte order mark is no part of the first name; no module of others is used"
check "a program that is not in PATH is named" \
  try env PATH=/usr/bin:/bin "$tool" --espalier "$here/espalier" -o named.ini two.param
check "without it a sentence" says 1 'espalier-convert: error: the program espalier.* --espalier names it' -- \
  env PATH=/usr/bin:/bin "$tool" -o none.ini two.param
check "the former command names the tool" says 2 'espalier-convert FILE.param' -- espalier convert two.param

# refuse TEXT SED: the changed file of GADGET-2 is refused, nothing is written
refuse() {
  sed "$2" "${3:-two.param}" > bad.param
  rm -f ini
  says 1 -- convert bad.param && [ ! -e ini ] && [ "$(wc -l < err)" = 1 ] && has err "^espalier-convert: error: $1"
  ok $? "refused: $1"
}
refuse 'bad.param:16: TimeMax: expected a number' 's/^TimeMax.*/TimeMax soon/'
refuse 'bad.param:16: TimeMax: expected a value behind the name' 's/^TimeMax.*/TimeMax/'
refuse 'bad.param:16: TimeMax = -1: expected a time after TimeBegin' 's/^TimeMax.*/TimeMax -1/'
refuse 'bad.param:14: PeriodicBoundariesOn = 1: periodic boxes have no counterpart' \
  's/^Periodic.*/PeriodicBoundariesOn 1/'
refuse 'bad.param:39: SofteningDisc is no parameter of GADGET-2 or GADGET-4; did you mean SofteningDisk' \
  's/^SofteningDisk/SofteningDisc/'
refuse 'bad.param:39: SofteningHalo is given twice; the first is in line 38' 's/^SofteningDisk/SofteningHalo/'
refuse 'bad.param:38: SofteningHalo: expected a length of at least 0' 's/^SofteningHalo.*/SofteningHalo -1/'
refuse 'bad.param: no softening above 0' '/^Softening/d'
refuse 'bad.param: UnitMass_in_g is missing' '/^UnitMass/d'
refuse 'bad.param:6: ICFormat: expected a whole number from 1 to 3' 's/^ICFormat.*/ICFormat 4/'
refuse 'bad.param:33: UnitLength_in_cm: expected a number above 0' 's/^UnitLength.*/UnitLength_in_cm 0/'
refuse 'bad.param:1: found .\[Input\].: expected a parameter file of GADGET' '1s/.*/[Input]/'
refuse 'bad.param:1: this is text in UTF-16' '1s/^/\xff\xfe/'
refuse 'bad.param:7: SnapFormat: expected text that can stand' 's/^SnapFormat.*/SnapFormat ;1/'
refuse 'bad.param:4: SnapshotFileBase = a.b: expected a name without' 's/^SnapshotFileBase.*/SnapshotFileBase a.b/'
refuse 'bad.param:15: Hubble: H_0 is 100 km/s/Mpc' 's/^Hubble .*/Hubble 0.1/' four.param
refuse 'bad.param:27: SofteningClassOfPartType2 = 7: SofteningComovingClass7 is missing' \
  's/^\(SofteningClassOfPartType2\).*/\1 7/' four.param
refuse 'bad.param:20: TimeBetSnapshot: expected a factor above 1' 's/^TimeBetSnapshot.*/TimeBetSnapshot 0.5/' four.param
check "refused: a folder" \
  says 1 '^espalier-convert: error: .: expected a parameter file of GADGET: this is no file' -- convert .
try "$tool" two.param && [ -f two.ini ] && says 1 'two.ini: already exists' -- "$tool" two.param
ok $? "a file that exists is not replaced"
finish
