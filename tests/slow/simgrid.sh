#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A soft step of 64 virtual ranks, and a recorded run on 4 ranks, replayed by SimGrid on a torus and on a fat tree,
# against the event model of src/trace/replay.c with the latency of their links and their bandwidth: within 20 %.
. "${srcdir:-.}/tests/slow/common.sh"
command -v smpirun > /dev/null 2>&1 || skip_all "no SimGrid (Debian: libsimgrid-dev)"
plan 10
scratch simgrid
here=$PWD
cd "$scratch_dir" || exit 99
export OMP_NUM_THREADS=1
"$here/espalier" ic plummer -n 2048 -o plummer.hdf5 > /dev/null || exit 99
cat > run.ini << END
[Input]
InitCondFile = plummer.hdf5
[Output]
OutputDir = run
CommTrace = on
[Units]
GravityConstantInternal = 1
[Time]
TimeMax = 1
[Gravity]
Softening = 0.03
[Split]
Mode = hybrid
[Steps]
Scheme = block
END
i=0
while [ $i -lt 64 ]; do echo "n$i"; i=$((i + 1)); done > hosts
# platform NAME TOPOLOGY PARAMETERS BANDWIDTH LATENCY
platform() {
  cat > "$1.xml" << END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="$1" prefix="n" radical="0-63" suffix="" speed="1Gf" bw="$4Bps" lat="$5s"
      loopback_bw="100GBps" loopback_lat="1ns"
             topology="$2" topo_parameters="$3" sharing_policy="SPLITDUPLEX"/>
  </zone>
</platform>
END
}
# simulate PLATFORM RANKS TRACES: the seconds. Messages are buffered as by the program, which does not wait for
# receivers; factors that correct a real Ethernet are off.
simulate() {
  timeout 300 smpirun -replay "$3/ti.txt" -platform "$1.xml" -hostfile hosts -np "$2" --cfg=smpi/bw-factor:0:1.0 \
    --cfg=smpi/lat-factor:0:1.0 \
    --cfg=smpi/async-small-thresh:65536 --cfg=smpi/allreduce:rdb --cfg=smpi/allgather:rdb --cfg=smpi/alltoall:bruck \
    --log=smpi_replay.thres:info > simgrid.log 2>&1 ||
    { tail -n 3 simgrid.log | sed 's/^/# /' >&2; return 1; }
  sed -n 's/.*Simulation time //p' simgrid.log
}
# compare NAME RANKS TRACES EVENTS PLATFORM BANDWIDTH LATENCY MODEL
compare() {
  simulated=$(simulate "$5" "$2" "$3") &&
    modelled=$("$here/espalier" study trace --latency "$7" --bandwidth "$6" --topology "$8" "$4" |
    awk '/^seconds/ { print $2 }') &&
    awk -v a="$simulated" -v b="$modelled" 'BEGIN { printf "# SimGrid %s s, model %s s: %+.1f %%\n", a, b,
      100 * (b / a - 1); exit !(a > 0 && b > 0.8 * a && b < 1.2 * a) }'
  result $? "$1"
}
"$here/espalier" study let --ranks 64 --trace ti virtual --trace events virtual-events run.ini > /dev/null
result $? "traces of 64 virtual ranks"
for network in "1e10 5e-7" "1e9 2e-6" "1e8 1e-5"; do
  bandwidth=${network% *} latency=${network#* }
  platform fat FAT_TREE "2;8,8;1,8;1,1" "$bandwidth" "$latency"
  compare "64 ranks on a fat tree, $bandwidth bytes/s, $latency s" 64 virtual virtual-events fat "$bandwidth" \
    "$latency" fat-tree:8
  platform torus TORUS 4,4,4 "$bandwidth" "$latency"
  compare "64 ranks on a torus, $bandwidth bytes/s, $latency s" 64 virtual virtual-events torus "$bandwidth" \
    "$latency" torus:4,4,4
  # processor time of the programs so far, which does not depend on what else the machine does: traces, and replays on
  # both topologies
  [ -s used ] || times > used
done
# shellcheck disable=SC2086
${MPIRUN:-mpirun} $MPIRUN_FLAGS -n 4 "$here/espalier" run -n 2 run.ini > run.log 2>&1 < /dev/null &&
  "$here/espalier" study trace --steps 1:2 --trace ti recorded --trace events recorded-events run/trace_000000 \
  > /dev/null
result $? "traces of a run on 4 ranks"
platform fat FAT_TREE "2;8,8;1,8;1,1" 1e9 2e-6
compare "4 ranks on a fat tree" 4 recorded recorded-events fat 1e9 2e-6 fat-tree:8
awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); s += 60 * t[1] + t[2] } }
  END { printf "# %.1f s of processor time\n", s; exit !(s < 60) }' used
result $? "both topologies in less than a minute"
finish
