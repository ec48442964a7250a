#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs that write snapshots in several files: interrupted and gone on with they write the same; --overwrite replaces
# them; a run begins from one by each of its names; one's own input is not written over.
. "${srcdir:-.}/tests/harness.sh"
parameters run.ini Output:NumFilesPerSnapshot=2 Output:TimeBetSnapshot=0.0625 Time:TimeMax=0.125 \
  Gravity:Softening=0.03 \
  Split:SoftStep=0.015625 Device:Backend=cpu $hybrid
run() {
  out=$1
  shift
  try launch 3 run -P "Output:OutputDir=$out" "$@" run.ini
}
limit=300
model plummer -n 600
run straight && [ "$(cd straight &&
  echo snap* snapdir_001/*)" = "snapdir_000 snapdir_001 snapdir_002 snapshot_000.hdf5 \
snapshot_001.hdf5 snapshot_002.hdf5 snapdir_001/snapshot_001.0.hdf5 snapdir_001/snapshot_001.1.hdf5" ]
ok $? "three snapshots of two files each"
run parts -n 3 -P Checkpoints:CheckpointAtEnd=on && run parts --restart last
ok $? "interrupted, and gone on with"
differ=
with_python "h5py, numpy"
for file in straight/snapdir_*/*.hdf5 straight/*.hdf5; do   # files hold the folder's name among the parameters
  other=parts/${file#*/}
  try judge same "$file" "$other" || differ="$differ $other"
done
[ -z "$differ" ]
ok $? "the same files${differ:+, but$differ}$([ -n "$python" ] || echo " # SKIP no python3 with h5py")"
run parts --overwrite -P Output:NumFilesPerSnapshot=3 &&
  [ "$(cd parts/snapdir_002 && echo *)" = "$(printf 'snapshot_002.%d.hdf5 ' 0 1)snapshot_002.2.hdf5" ]
ok $? "replaced by others"
for name in snapshot_001.hdf5 snapdir_001/snapshot_001 snapdir_001/snapshot_001.0.hdf5; do
  check "a run begins from $name" \
    says 0 '^energy' 'from time 0.0625 to' -- run next --overwrite -n 1 -P "Input:InitCondFile=straight/$name"
done
says 1 'snapshot_001.1.hdf5 is the run.s input' -- \
  run straight --overwrite -P Input:InitCondFile=straight/snapdir_001/snapshot_001.1.hdf5 && [ -e \
  straight/snapdir_001/snapshot_001.1.hdf5 ]
ok $? "not over its own input"
says 1 "unknown parameter 'Xdmf' in .Output.; it was removed.*espalier-xdmf SNAPSHOT" -- \
  run blocked -P Output:Xdmf=on && [ ! -e blocked ]
ok $? "Xdmf, of earlier versions: refused, and the tool is named"

# espalier-xdmf
xdmf() { try "$src/tools/espalier-xdmf" "$@"; }
# refuses NAME FRAGMENT: one sentence, and no file
refuses() {
  says 1 -- xdmf "$1" && [ ! -s said ] && [ "$(wc -l < err)" = 1 ] && has err "^espalier-xdmf: .*$2" &&
    [ -z "$(find . -newer mark -name '*.xmf*')" ]
  ok $? "espalier-xdmf $1: $2"
}
[ -n "$python" ] || finish
xdmf straight && xdmf parts/snapshot_000.hdf5 parts/snapshot_001.hdf5 && [ ! -s said ] && [ ! -s err ] &&
  [ "$(ls straight | grep xmf | tr '\n' ' ')" = "snapshot_000.xmf snapshot_001.xmf snapshot_002.xmf " ] &&
    [ "$(ls parts | grep -c xmf)" = 2 ]
ok $? "espalier-xdmf: a file for each snapshot of a folder, and for each that is named"
cmp -s straight/snapshot_000.xmf parts/snapshot_000.xmf && cmp -s straight/snapshot_001.xmf parts/snapshot_001.xmf
ok $? "... the same for the same snapshots"
item='<DataItem Format="HDF"' part=snapshot_001.hdf5:/PartType1
cat > expected << END
<?xml version="1.0"?>
<Xdmf Version="2.1">
  <Domain>
    <Grid Name="particles" GridType="Collection" CollectionType="Spatial">
      <Time Value="0.0625"/>
      <Grid Name="PartType1" GridType="Uniform">
        <Topology TopologyType="Polyvertex" NodesPerElement="1" NumberOfElements="600"/>
        <Geometry GeometryType="XYZ">
          $item NumberType="Float" Precision="8" Dimensions="600 3">$part/Coordinates</DataItem>
        </Geometry>
        <Attribute Name="Velocities" AttributeType="Vector" Center="Node">
          $item NumberType="Float" Precision="8" Dimensions="600 3">$part/Velocities</DataItem>
        </Attribute>
        <Attribute Name="Masses" AttributeType="Scalar" Center="Node">
          $item NumberType="Float" Precision="4" Dimensions="600">$part/Masses</DataItem>
        </Attribute>
        <Attribute Name="ParticleIDs" AttributeType="Scalar" Center="Node">
          $item NumberType="UInt" Precision="8" Dimensions="600">$part/ParticleIDs</DataItem>
        </Attribute>
        <Attribute Name="Potential" AttributeType="Scalar" Center="Node">
          $item NumberType="Float" Precision="4" Dimensions="600">$part/Potential</DataItem>
        </Attribute>
      </Grid>
    </Grid>
  </Domain>
</Xdmf>
END
diff expected straight/snapshot_001.xmf > said 2>&1
ok $? "... which has time, types, shapes and datasets"
cp ic.hdf5 'a<&">.hdf5' && xdmf 'a<&">.hdf5' && "$python" -c '
import sys, xml.dom.minidom
items = xml.dom.minidom.parse(sys.argv[1]).getElementsByTagName("DataItem")
sys.exit(items[0].firstChild.data != "a<&\">.hdf5:/PartType1/Coordinates")' 'a<&">.xmf' > said 2> err
ok $? "... from a single file, whose name XML must escape"
espalier ic merger -n 600 -o two.hdf5 > said 2> err && xdmf two.hdf5 &&
  [ "$(grep -c '<Grid Name="PartType[12]"' two.xmf)" = 2 ] &&
  has two.xmf 'Dimensions="300 3">two.hdf5:/PartType2/Coordinates'
ok $? "... of two types"
: > mark
sleep 0.1
mkdir none
: > empty.hdf5
refuses absent.hdf5 'absent.hdf5 is not there'
refuses empty.hdf5 'empty.hdf5 is no snapshot, or is damaged'
refuses none 'none is a folder without snapshots'
refuses straight/snapdir_001/snapshot_001.0.hdf5 'is one of 2 files of a snapshot'
"$python" -c 'import h5py; h5py.File("other.hdf5", "w")["data"] = 1.0'
refuses other.hdf5 'other.hdf5 is no snapshot: it has no attribute'
mkdir straight/snapshot_001.xmf.tmp
says 1 -- xdmf straight/snapshot_001.hdf5 && [ "$(wc -l < err)" = 1 ] &&
  has err '^espalier-xdmf: straight/snapshot_001.xmf cannot be written: straight/snapshot_001.xmf.tmp: ' &&
  [ ! -e straight/snapshot_001.xmf ] && [ -e straight/snapshot_001.hdf5 ]
ok $? "... if it cannot be written an earlier one is removed"
rmdir straight/snapshot_001.xmf.tmp
# three_with_one_bad WHAT ARGUMENT...: of the snapshots of the folder mixed the second is damaged; the others are done
three_with_one_bad() {
  what=$1
  shift
  rm -f mixed/*.xmf
  xdmf "$@"
  [ $? = 1 ] && [ ! -s said ] && [ "$(wc -l < err)" = 1 ] &&
    has err '^espalier-xdmf: mixed/a_001.hdf5 is no snapshot, or is damaged' &&
    [ "$(ls mixed | grep xmf | tr '\n' ' ')" = "a_000.xmf a_002.xmf " ]
  ok $? "espalier-xdmf: one damaged file among three, $what: it is reported, and the others are done"
}
mkdir mixed
cp ic.hdf5 mixed/a_000.hdf5
head -c 5000 ic.hdf5 > mixed/a_001.hdf5
cp ic.hdf5 mixed/a_002.hdf5
three_with_one_bad "named" mixed/a_000.hdf5 mixed/a_001.hdf5 mixed/a_002.hdf5
three_with_one_bad "in a folder" mixed
rm mixed/*.xmf
says 1 -- xdmf none absent.hdf5 mixed/a_002.hdf5 && [ "$(wc -l < err)" = 2 ] && has err 'none is a folder without' &&
  has err 'absent.hdf5 is not there' && [ -e mixed/a_002.xmf ]
ok $? "... also after a folder without snapshots and a file that is not there"
mkdir mixed/a_000.xmf.tmp
says 1 -- xdmf mixed/a_000.hdf5 mixed/a_002.hdf5 && [ "$(wc -l < err)" = 1 ] &&
  has err 'mixed/a_000.xmf cannot be written' && [ -e mixed/a_002.xmf ]
ok $? "... and after a file that cannot be written"

# datasets that XDMF cannot describe
cp ic.hdf5 more.hdf5
"$python" -c '
import h5py
group = h5py.File("more.hdf5", "a")["PartType1"]
group["Metals"] = [[0.0] * 6] * 600
group["Short"] = [1.0] * 599
group["Flags"] = h5py.Empty("f")
group.create_dataset("Names", (600,), "S8")
group.create_dataset("Bits", (600,), "i2")
group["Lost"] = h5py.SoftLink("/nowhere")
group["Ages"] = [1.0] * 600
group.create_group("Notes")' > said 2> err && xdmf more.hdf5 && [ ! -s said ] && [ "$(wc -l < err)" = 6 ] &&
  [ "$(grep -c '^espalier-xdmf: more.hdf5: /PartType1/[A-Z][a-z]* left out: ' err)" = 6 ] && ! grep -q damaged err &&
  has err '/Metals left out: its shape is (600, 6), expected (600,) or (600, 3)' &&
    has err '/Bits left out: its values have the type int16' &&
  has err '/Lost left out: it cannot be opened' &&
  [ "$(grep -c '<Attribute' more.xmf)" = "$(($(grep -c '<Attribute' mixed/a_002.xmf) + 1))" ] &&
    has more.xmf '<Attribute Name="Ages"'
ok $? "espalier-xdmf leaves out datasets that it cannot describe, and says which"
"$python" -c '
import h5py
group = h5py.File("more.hdf5", "a")["PartType1"]
del group["Coordinates"]
group.create_dataset("Coordinates", (600, 3), "i2")' > said 2> err
: > mark
sleep 0.1
refuses more.hdf5 'more.hdf5 cannot be described: /PartType1/Coordinates: its values have the type int16'
finish
