#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A run whose parameters state no units has those of its initial conditions, and its gravitational constant; a restart
# has those of the checkpoint, and the options -P of the start. A run goes on beyond its end.
. "${srcdir:-.}/tests/harness.sh"
limit=60
espalier() { try launch 0 "$@"; }
minimal='Input:InitCondFile=../ic.hdf5 Output:OutputDir=out Gravity:Softening=0.05'

# a model without units
model plummer -n 100
parameters run.ini $minimal Units:GravityConstantInternal= Time:TimeMax=0.0625
lacks run.ini Units && go model 1
ends 0 && has model/log '^units: none: the numbers of a model with G = 1, those of ../ic.hdf5$' &&
  has model/out/parameters-used.ini '^GravityConstantInternal = 1$'
ok $? "a model without units: G = 1 comes from its file"
go given 1 -P Units:GravityConstantInternal=1
check "... the same run as with G = 1" cmp model/out/energy.csv given/out/energy.csv

# a cluster in pc: its file states units
model king -n 200 --virial-radius 2 --overwrite
parameters run.ini $minimal Units:GravityConstantInternal= 'Time:TimeMax=50 kyr' 'Output:TimeBetSnapshot=25 kyr' \
  'Time:MaxSizeTimestep=5 kyr' Device:Backend=cpu Split:Mode=tree Device:Tuning=frozen
go file 1
ends 0 && has file/log '^units: length 1 pc, mass 1 Msun, velocity 0.9778 km/s, time 1 Myr, those of ../ic.hdf5$' &&
  has file/log 'TimeMax = 0.05 (50 kyr)' && has file/log '^snapshot .* at time 0.025 (0.025 Myr)$' &&
  has file/log '^done: time 0.05 (0.05 Myr)'
ok $? "a cluster in pc and Myr: the units of its file"
cp file/out/parameters-used.ini used.ini
go used 1 -P Output:OutputDir=out
ends 0 && has used.ini '^UnitLength_in_cm = 3.0856776e+18'
ok $? "... which parameters-used.ini has"
check "--check says where they are from" says 0 '^units               length 1 pc' 'of the file, since the parameters' \
  -- espalier run --check -P Input:InitCondFile=ic.hdf5 -P Output:OutputDir=checked run.ini
refused 'states UnitLength_in_cm = 3.08.*e+18, .* remove \[Units\], and the run takes those of the file' \
  -P Units:System=galaxy
check "a force has them too" says 0 '' -- espalier force -P Input:InitCondFile=ic.hdf5 run.ini

# a restart needs neither the file nor -P again
cp -r file whole
go parts 1 -n 3 -P 'Gravity:Softening=0.06 pc' -P Output:OutputDir=here
mv ic.hdf5 away.hdf5
go parts 1 -r -P Output:OutputDir=here
ends 0 && has parts/log '^restart: the run was started with -P Gravity:Softening=0.06 pc, which still holds$' &&
  lacks parts/log 'started with -P Output' && has parts/log '^units: length 1 pc.*, those of the checkpoint$' &&
  has parts/log '^done: time 0.05 '
ok $? "a restart: units of the checkpoint, options of the start, without the initial conditions"
sed 's/^Softening = .*/Softening = 0.06/' run.ini > edited.ini
cp edited.ini run.ini
go parts 1 -r 3 -P Output:OutputDir=here
ends 0 && has parts/log 'Softening=0.06 pc, which the parameter file, changed since, replaces$'
ok $? "... an edited parameter file counts more than these options"
go parts 1 -r 3 -P Output:OutputDir=here -P Gravity:Softening=0.07
ends 1 'Softening = 0.07, but the checkpoint was made with 0.06'
ok $? "... and an option of the restart counts most"

# damage TEXT SED...: the newest checkpoint's
newest() { for folder in damaged/here/checkpoints/checkpoint_*; do :; done; echo "$folder"; }
start() { rm -rf damaged; cp -r whole damaged; go damaged 1 -n 3 -P Output:OutputDir=here "$@"; }
mv away.hdf5 ic.hdf5
sed 's/^Softening = .*/Softening = 0.05/' run.ini > edited.ini
cp edited.ini run.ini
start -P Time:TimeMax=0.04
go damaged 1 -r -n 3 -P Output:OutputDir=here
ends 0 && has damaged/log 'after 3 soft steps; nothing to do, since -n 3 counts from the start; without -n it goes on'
ok $? "a run that -n has ended: the same -n leaves nothing to do, and the line says why"
go damaged 1 -r -n 5 -P Output:OutputDir=here -P Time:TimeMax=0.045
truncate -s 10 "$(newest)/rank_00000"
go damaged 1 -r -n 6 -P Output:OutputDir=here
ends 0 && has damaged/err 'a damaged checkpoint is skipped' && has damaged/log 'TimeMax=0.04, which still holds$'
ok $? "a newest checkpoint that is cut off gives no options: those of the one before it hold"
go damaged 1 -r -n 7 -P Output:OutputDir=here -P Time:TimeMax=0.045
at=$(newest)/rank_00000
printf 'damaged' | dd of="$at" bs=1 seek=$(($(wc -c < "$at") / 2)) conv=notrunc 2> /dev/null
go damaged 1 -r -n 9 -P Output:OutputDir=here
ends 1 'checkpoint_0*7 is damaged, and options -P or units, which differ in .*checkpoint_0*6, were .*: give -r 6$'
ok $? "one whose bytes are damaged: its options are not mixed with the state of another"
go damaged 1 -r 6 -n 9 -P Output:OutputDir=here
ends 0 && has damaged/log 'TimeMax=0.04, which still holds$'
ok $? "... and that advice works"
says 1 "^espalier: error: -P Time:TimeMax=0.05: expected a value of one line, found byte 0x0a (a line's end)" -- \
  launch 1 run -P "Time:TimeMax=0.05
" run.ini
ok $? "an option of two lines is refused"

# beyond the end
parameters run.ini $minimal Units:GravityConstantInternal= 'Time:TimeMax=50 kyr' 'Output:TimeBetSnapshot=25 kyr' \
  'Time:MaxSizeTimestep=5 kyr' Device:Backend=cpu Split:Mode=tree Device:Tuning=frozen
go longer 1 -P 'Time:TimeMax=25 kyr'
ends 0 && [ ! -e longer/out/snapshot_002.hdf5 ]
ok $? "a run to an earlier end"
go longer 1 -r
ends 0 && has longer/log 'TimeMax=25 kyr, which it has reached: that of the parameter file holds$' &&
  [ -e longer/out/snapshot_002.hdf5 ] && [ "$(count longer/out/steps.csv '^[0-9]')" = "$(
    awk -F, '/^[0-9]/ { n = $1 } END { print n }' longer/out/steps.csv)" ]
ok $? "... goes on to a later one: snapshots are numbered on, and no row is missing"
go longer 1 -r
ends 0 && has longer/log 'has finished at time 0.05' && lacks longer/log '^done'
ok $? "... and has then finished"

cp run.ini with.ini && sed '/TimeMax/d' with.ini > run.ini
go default 1 -P 'Time:TimeMax=25 kyr' && go default 1 -r
ends 0 && has default/log 'TimeMax=25 kyr, which still holds$' && has default/log 'has finished at time 0.025'
ok $? "... not where the file has no TimeMax"
cp with.ini run.ini

# files of other programs
if with_python h5py; then
  "$python" - ic.hdf5 gadget.hdf5 << 'END'
import sys
import h5py
with h5py.File(sys.argv[1]) as own, h5py.File(sys.argv[2], "w") as out:
    own.copy("PartType1", out)
    header = out.create_group("Header").attrs
    for name in "NumPart_ThisFile", "NumPart_Total", "MassTable", "Time":
        header[name] = own["Header"].attrs[name]
    header["NumFilesPerSnapshot"] = 1
    units = out.create_group("Parameters").attrs
    for name in "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s":
        units[name] = own["Units"].attrs[name]
END
  go gadget 1 -P Input:InitCondFile=../gadget.hdf5
  ends 0 && has gadget/log '^units: length 1 pc.*, those of ../gadget.hdf5$' &&
    has gadget/out/energy.csv 'GravityConstantInternal = 0.00449850'
  ok $? "a file of another program that states its units"
  "$python" -c 'import h5py; h5py.File("gadget.hdf5", "r+")["Parameters"].attrs["UnitMass_in_g"] = 1e305'
  check "units that overflow: the message names their file" says 1 \
    '^espalier: error: gadget.hdf5: UnitLength_in_cm = 3.08.*the gravitational constant is ' \
    -- espalier run --check -P Input:InitCondFile=gadget.hdf5 run.ini
fi
# sets of several files
if with_python h5py; then
  "$python" - ic.hdf5 << 'END'
import sys
import h5py
names = "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"
with h5py.File(sys.argv[1]) as own:
    units = [own["Units"].attrs[name] for name in names]
    for base, factors in ("same", (1, 1)), ("differ", (1, 1000)), ("second", (None, 1)), ("first", (1, None)):
        for k in range(2):
            with h5py.File(f"{base}.{k}.hdf5", "w") as out:
                part = out.create_group("PartType1")
                for name, data in own["PartType1"].items():
                    part[name] = data[100 * k:100 * k + 100]
                header = out.create_group("Header").attrs
                header["NumPart_ThisFile"], header["NumPart_Total"] = [0, 100, 0, 0, 0, 0], [0, 200, 0, 0, 0, 0]
                header["MassTable"], header["Time"], header["NumFilesPerSnapshot"] = [0.0] * 6, 0.0, 2
                for name, unit in zip(names, units):
                    if factors[k]:
                        out.require_group("Parameters").attrs[name] = unit * factors[k]
END
  set_of() { try espalier run --check -P "Input:InitCondFile=$1" -P Output:OutputDir=checked run.ini; }
  for base in same first; do
    set_of $base.0.hdf5 && has said '^units               length 1 pc' && has said '200 particles'
    ok $? "a set of two files: the units of its first one ($base)"
  done
  set_of differ.0.hdf5
  [ $status = 1 ] && has err 'differ.1.hdf5 states units of 3.085.*e+21 cm, .*, but the file that is read first 3.085'
  ok $? "... with other units in the second one: refused"
  set_of second.0.hdf5
  [ $status = 1 ] && has err 'second.1.hdf5 states units, but the file that is read first states none'
  ok $? "... with units in the second one alone: refused"
fi
printf '0 0 0 0 0 0 1\n1 0 0 0 1 0 1\n0 1 0 1 0 0 1\n' > stars.txt
go text 1 -P Input:InitCondFile=../stars.txt -P 'Time:TimeMax=1e-6' -P Output:TimeBetSnapshot=0
ends 0 && has text/log '^units: length 1 kpc, mass 1e+10 Msun, velocity 1 km/s, time 0.9778 Gyr$'
ok $? "a file that states none: the default units"
finish
