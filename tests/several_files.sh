#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs that write snapshots in several files: interrupted and gone on with they write the same; --overwrite replaces them; a run
# begins from one by each of its names; one's own input is not written over.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
here=$PWD
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/tap.sh"
told="$dir/said $dir/err"
export OMP_NUM_THREADS=1 SOURCE_DATE_EPOCH=1700000000
cd "$dir" || exit 99
cat > run.ini << END
[Input]
InitCondFile = ic.hdf5
[Output]
NumFilesPerSnapshot = 2
Xdmf = on
TimeBetSnapshot = 0.0625
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = 0.125
[Gravity]
Softening = 0.03
[Split]
SoftStep = 0.015625
[Device]
Backend = cpu
END
run() {
  out=$1
  shift
  timeout 300 ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n 3 "$here/espalier" run -P "Output:OutputDir=$out" "$@" run.ini > said 2> err < /dev/null
}
"$here/espalier" ic plummer -n 600 -o ic.hdf5 > said 2> err && run straight &&
  [ "$(cd straight && ls -d snap* snapdir_001/* | tr '\n' ' ')" = \
    "snapdir_000 snapdir_001 snapdir_001/snapshot_001.0.hdf5 snapdir_001/snapshot_001.1.hdf5 snapdir_002 snapshot_000.hdf5 snapshot_000.xmf snapshot_001.hdf5 snapshot_001.xmf snapshot_002.hdf5 snapshot_002.xmf " ]
ok $? "three snapshots of two files each"
run parts -n 3 -P Checkpoints:CheckpointAtEnd=on && run parts --restart last
ok $? "interrupted, and gone on with"
differ=
with_python h5py
for file in straight/snapdir_*/*.hdf5 straight/*.hdf5 straight/*.xmf; do
  other=parts/${file#*/}
  # HDF5 files hold the folder's name among the parameters
  case $file in
    *.xmf) cmp -s "$file" "$other" || differ="$differ $other" ;;
    *) [ -z "$python" ] || "$python" "$src/tests/slurm/same.py" "$file" "$other" > said 2> err || differ="$differ $other" ;;
  esac
done
[ -z "$differ" ]
ok $? "the same files${differ:+, but$differ}$([ -n "$python" ] || echo " # SKIP no python3 with h5py: sidecars alone")"
run parts --overwrite -P Output:NumFilesPerSnapshot=3 && [ "$(ls parts/snapdir_002 | tr '\n' ' ')" = "snapshot_002.0.hdf5 snapshot_002.1.hdf5 snapshot_002.2.hdf5 " ]
ok $? "replaced by others"
for name in snapshot_001.hdf5 snapdir_001/snapshot_001 snapdir_001/snapshot_001.0.hdf5; do
  run next --overwrite -n 1 -P "Input:InitCondFile=straight/$name" && grep -q '^energy' said && grep -q 'from time 0.0625 to' said
  ok $? "a run begins from $name"
done
run straight --overwrite -P Input:InitCondFile=straight/snapdir_001/snapshot_001.1.hdf5
[ $? = 1 ] && grep -q 'snapshot_001.1.hdf5 is the run.s input' err && [ -e straight/snapdir_001/snapshot_001.1.hdf5 ]
ok $? "not over its own input"
mkdir -p blocked/snapshot_001.xmf.tmp
run blocked && grep -q 'warning: blocked/snapshot_001.xmf.tmp cannot be created: .* (the snapshot itself has been written)' err &&
  [ "$(grep -c 'snapshot_00[012].hdf5 at time' said)" = 3 ] && grep -q 'snapshot_001.hdf5 at time 0.0625$' said && [ -e blocked/snapshot_002.xmf ]
ok $? "without a file for ParaView the snapshot counts, and is not written again"
echo "1..$number"
exit $failed
