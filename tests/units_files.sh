#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What files say of their units: dimensionless models and physical runs, in snapshots, tables and parameters-used.ini;
# models that are given units; snapshots without the statement.
. "${srcdir:-.}/tests/harness.sh"
with_python "h5py" || skip_all "no python3 with h5py"
limit=60
espalier() { try launch 0 "$@"; }
# ini FILE LINE...: a parameter file with these lines under [Units]
ini() {
  parameters "$1" Output:OutputDir=out Time:TimeMax=0.03125 Gravity:Softening=0.1 Units:GravityConstantInternal=
  file=$1
  shift
  [ $# = 0 ] || { echo '[Units]' && printf '%s\n' "$@"; } >> "$file"
}
# states FILE EXPRESSION: about the attributes u of /Units, p of /Parameters, h of /Header, and the open file f
states() { try judge states "$@"; }

espalier ic plummer -n 200 -o ic.hdf5 &&
  states ic.hdf5 'u["UnitSystem"] == p["UnitSystem"] == h["UnitSystem"] == b"dimensionless"'
ok $? "a model is labelled as dimensionless"
gravity='6.67430e-8 * u["UnitMass_in_g"] / u["UnitLength_in_cm"] / u["UnitVelocity_in_cm_per_s"]**2'
states ic.hdf5 'u["UnitLength_in_cm"] == p["UnitLength_in_cm"] == u["UnitMass_in_g"] == 1 and same('"$gravity"', 1)'
ok $? "... in 1 cm and 1 g, and its gravitational constant is 1"
states ic.hdf5 'same(f["PartType1/Velocities"].attrs["to_cgs"], u["UnitVelocity_in_cm_per_s"])' &&
  states ic.hdf5 'f["PartType1/Masses"].attrs["to_cgs"] == 1'
ok $? "... as the datasets say"
ini model.ini 'GravityConstantInternal = 1'
espalier run model.ini &&
  states out/snapshot_000.hdf5 \
  'u["UnitSystem"] == b"dimensionless" and same('"$gravity"', 1) and p["GravityConstantUsed"] == 1'
ok $? "so is a run of it"
has out/energy.csv '^# units: dimensionless, GravityConstantInternal = 1$' &&
  lacks out/energy.csv 'UnitLength\|unit of time' &&
  has out/steps.csv '^# units: dimensionless'
ok $? "... its tables"
check "... its parameters-used.ini" has out/parameters-used.ini '^# Units: dimensionless'
espalier run --overwrite -P Output:OutputDir=again out/parameters-used.ini &&
  states again/snapshot_000.hdf5 'u["UnitSystem"] == b"dimensionless"'
ok $? "... and a run with that file, which names the default units"
espalier run -P Input:InitCondFile=out/snapshot_000.hdf5 -P Output:OutputDir=next -P Time:TimeMax=0.0625 model.ini &&
  states next/snapshot_000.hdf5 'u["UnitSystem"] == b"dimensionless"'
ok $? "... and a run that begins at its snapshot"
check "a dimensionless model in kpc, km/s and G from these: refused, with a sentence" \
  says 1 'the gravitational constant 1, but the parameters give 43021.*set \[Units\] GravityConstantInternal = 1' \
  -- espalier run -P Output:OutputDir=physical -P Units:GravityConstantInternal=0 model.ini
ini kpc.ini
awk 'BEGIN { for (k = 0; k < 20; k++) print cos(k), sin(k), 0.1 * k, 0, 0, 0, 1 }' > ic.txt
espalier run -n 0 -P Output:OutputDir=kpc -P Input:InitCondFile=ic.txt kpc.ini && cp kpc/snapshot_000.hdf5 kpc.hdf5
check "a physical snapshot with a parsec as its unit of length: the units are named before the gravitational constant" \
  says 1 'states UnitLength_in_cm = 3.085678e+21, but .* UnitLength_in_cm = 3.085678e+18; remove \[Units\], and' \
  -- espalier run -P Output:OutputDir=parsec -P Units:UnitLength_in_cm=3.085678e18 -P Input:InitCondFile=kpc.hdf5 \
  -P Units:GravityConstantInternal=0 model.ini
check "... with the gravitational constant of a model: that goes" \
  says 1 'constant 430[0-9]*\..*, which follows from its units, but .* 1; remove \[Units\] GravityConstantInternal' \
  -- espalier run -P Output:OutputDir=parsec -P Input:InitCondFile=kpc.hdf5 model.ini

# units in which G is 1: 1 kpc, 1e10 solar masses, 207.4 km/s
ini scaled.ini 'UnitVelocity_in_cm_per_s = 2.07417e7'
espalier run -P Output:OutputDir=scaled scaled.ini &&
  states scaled/snapshot_000.hdf5 'u["UnitSystem"] == b"physical" and u["UnitVelocity_in_cm_per_s"] == 2.07417e7' &&
  states scaled/snapshot_000.hdf5 'u["UnitLength_in_cm"] == 3.085678e21'
ok $? "a model may be given units in which G is 1; then the run is physical"
has scaled/energy.csv '^# UnitLength_in_cm = 3.08568e+21, .*GravityConstantInternal = 1.0000' &&
  has scaled/energy.csv '^# unit of time: ' &&
  has scaled/parameters-used.ini '^# Units: physical'
ok $? "... as its table says and its parameters-used.ini"
espalier run -P Input:InitCondFile=scaled/snapshot_000.hdf5 -P Output:OutputDir=onwards -P Time:TimeMax=0.0625 \
  scaled.ini &&
  states onwards/snapshot_000.hdf5 'u["UnitVelocity_in_cm_per_s"] == 2.07417e7'
ok $? "... and its snapshots are read in these"
check "... in no others" \
  says 1 'states UnitVelocity_in_cm_per_s = 2.07417e+07, but the parameter file has' -- espalier run \
  -P Input:InitCondFile=scaled/snapshot_000.hdf5 -P Output:OutputDir=other -P Time:TimeMax=0.0625 model.ini

ini wrong.ini 'GravityConstantInternal = 1' 'UnitLength_in_cm = 3.085678e18' 'UnitMass_in_g = 1.989e33'
check "units that contradict the gravitational constant: a warning of --check" \
  says 0 \
  '^warning: GravityConstantInternal = 1 contradicts the units given.*to 0, or UnitVelocity_in_cm_per_s to 6559' \
  -- espalier run --check -P Output:OutputDir=wrong wrong.ini
check "... and of a run" \
  says 0 '^espalier: warning: GravityConstantInternal = 1 contradicts' \
  -- espalier run -n 0 -P Output:OutputDir=wrong wrong.ini

# a snapshot as earlier versions wrote it
"$python" - << 'END'
import h5py
with h5py.File("out/snapshot_000.hdf5") as a, h5py.File("old.hdf5", "w") as b:
    for group in a:
        a.copy(group, b)
    for group in ("Units", "Parameters", "Header"):
        attributes = b[group].attrs
        attributes.pop("UnitSystem", None)
        if group != "Header":
            attributes["UnitLength_in_cm"], attributes["UnitMass_in_g"] = 3.085678e21, 1.989e43
            attributes["UnitVelocity_in_cm_per_s"] = 1e5
END
espalier run -P Input:InitCondFile=old.hdf5 -P Output:OutputDir=old -P Time:TimeMax=0.0625 model.ini &&
  states old/snapshot_000.hdf5 'u["UnitSystem"] == b"dimensionless"'
ok $? "an older snapshot of a model is read as before"
espalier run -P Input:InitCondFile=old.hdf5 -P Output:OutputDir=oldscaled -P Time:TimeMax=0.0625 scaled.ini
ok $? "... and is dimensionless too"
finish
