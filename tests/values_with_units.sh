#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Values with units in a parameter file and after -P: the same run as with plain numbers, bit by bit, also over a
# restart from one to the other; the log and parameters-used.ini have both; what is wrong is refused with a sentence.
. "${srcdir:-.}/tests/harness.sh"
limit=60
espalier() { try launch 0 "$@"; }
model plummer -n 200 -s 3
# a cluster of 1 pc, with G = 1 in units that are given with units
cluster='Units:UnitLength_in_cm=1pc Units:UnitMass_in_g=1000Msun Units:UnitVelocity_in_cm_per_s=2.07392km/s
  Output:TimeBetStatistics=1e-9 Output:SubstepLog=on Device:Tuning=frozen Device:Backend=cpu Split:Mode=tree
  Checkpoints:CheckpointAtEnd=on Input:InitCondFile=../ic.hdf5 Output:OutputDir=out Time:MaxSizeTimestep=0.0078125'
set -- 'Time:TimeMax=30 kyr' 'Gravity:Softening=0.05 pc' 'Output:TimeBetSnapshot=0.01 Myr' \
  'External:Potential1=point mass=2e3Msun softening=20000 AU centre=0,0,500 pc' \
  'External:TidalField=omega=0.027 km/s/pc'
parameters run.ini $cluster "$@"
go units 1
ok $status "a run with units in the file"
has units/log '^given: Softening = 0.05 (0.05 pc)$' && has units/log '^given: TimeMax = 0.0636.* (30 kyr)$' &&
  has units/log '^given: TidalField = omega=0.0130.* (omega=0.027 km/s/pc)$'
ok $? "... whose log has the value and the text"
has units/out/parameters-used.ini '^Softening = 0.05   # 0.05 pc$' &&
  has units/out/parameters-used.ini '^UnitLength_in_cm = 3.0856776e+18   # 1pc$' &&
  has units/out/parameters-used.ini '^Potential1 = point mass=2 softening=0.0969.* centre=0,0,500   # point mass=2e3M'
ok $? "... and parameters-used.ini"
check "--check names them" says 0 '^given               TimeMax = 0.0636.* (30 kyr)$' \
  -- espalier run --check --overwrite -P Input:InitCondFile=ic.hdf5 -P Output:OutputDir=checked run.ini

# value NAME: in units of the run
value() { sed -n "s/^$1 = \([^#]*[^# ]\).*/\1/p" units/out/parameters-used.ini; }
parameters run.ini $cluster "Units:UnitLength_in_cm=$(value UnitLength_in_cm)" \
  "Units:UnitMass_in_g=$(value UnitMass_in_g)" \
  "Units:UnitVelocity_in_cm_per_s=$(value UnitVelocity_in_cm_per_s)" "Time:TimeMax=$(value TimeMax)" \
  "Gravity:Softening=$(value Softening)" "Output:TimeBetSnapshot=$(value TimeBetSnapshot)" \
  "External:Potential1=$(value Potential1)" "External:TidalField=$(value TidalField)"
lacks run.ini 'pc$\|Msun\|yr' && go plain 1
ok $status "the same with plain numbers"
lacks plain/log '^given' && check "... gives the same bits" same units plain
go options 1 -P 'Time:TimeMax=30 kyr' -P 'Gravity:Softening=50e-3 pc' -P 'Output:TimeBetSnapshot=0.01 Myr' \
  -P 'External:TidalField=omega=27 km/s/kpc'
check "... and with units after -P" same units options

go parts 1 -n 3 -P 'Time:TimeMax=30 kyr' -P 'Gravity:Softening=0.05 pc' -P 'Split:R1=0 pc'
cp -r parts changed
go parts 1 -r -P 'Gravity:Softening=50 pc'
ends 1 'Softening = 50, but the checkpoint was made with 0.05'
ok $? "a restart with another value is refused"
go parts 1 -r -P "Time:TimeMax=$(value TimeMax)" -P "Gravity:Softening=$(value Softening)"
ends 0 && lacks parts/log '^restart: .* now (it was' && same units parts
ok $? "a restart with the equal plain numbers: the same bits, and no change is named"
go changed 1 -r -P 'Time:TimeMax=0.03 Myr' \
  -P 'External:Potential1=point mass=2000 Msun softening=2e4 AU centre=0,0,.5 kpc'
ends 0 && lacks changed/log '^restart: .* now (it was' && same units changed
ok $? "... one with other texts of the same values is not"

parameters run.ini Input:InitCondFile=../ic.hdf5 Units:GravityConstantInternal= Units:System=nbody \
  Output:OutputDir=out Time:TimeMax=0.0625
go named 1 && parameters run.ini Input:InitCondFile=../ic.hdf5 Output:OutputDir=out Time:TimeMax=0.0625 && go g 1
ends 0 && cmp named/out/energy.csv g/out/energy.csv && has named/out/parameters-used.ini '^GravityConstantInternal = 1$'
ok $? "System = nbody: the run with GravityConstantInternal = 1"
parameters run.ini Input:InitCondFile=../ic.hdf5 Output:OutputDir=out
refused "\[Units\] GravityConstantInternal = 1 and System = cluster: expected 0, or one of the two left out" \
  -P Units:System=cluster
refused "-P Time:TimeMax=50 pc: expected a time, for example 0.3 Gyr, found '50 pc': that is a length" \
  -P 'Time:TimeMax=50 pc'
refused "-P Gravity:Softening=5 kpc/h: expected a length, .*: h may be hours" -P 'Gravity:Softening=5 kpc/h'
refused "Softening=5 Kpc: expected a length, .* found '5 Kpc': unknown unit 'Kpc'; did you mean 'kpc'" \
  -P 'Gravity:Softening=5 Kpc'
refused "Potential1 = point mass=1 pc: mass=: expected a mass" -P 'External:Potential1=point mass=1 pc'
refused "TimeMax = 1 Gyr: expected a number without a unit: with Comoving = on the time is the expansion factor" \
  -P Cosmology:Comoving=on -P Units:GravityConstantInternal=0 -P 'Time:TimeMax=1 Gyr'
parameters run.ini Input:InitCondFile=../ic.hdf5 Output:OutputDir=out 'Gravity:Softening=50 pc'
refused "run.ini:[0-9]*: \[Gravity\] Softening = 50 pc: expected a number without a unit: the run is .* G = 1;"
finish
