#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Pairs and groups of stars as units: clusters with binaries, head-on falls, a triple, restarts, numbers of ranks.
. "${srcdir:-.}/tests/harness.sh"
shown="said"
parameters run.ini Output:OutputDir=out Output:TimeBetStatistics=0.0625 Time:TimeMax=0.25 Gravity:Softening=0 \
  Split:R1=0.04 Split:R2=0.16 Split:SoftStep=0.0078125 Split:Kernel=septic Steps:Integrator=hermite Steps:Eta=0.1 \
  Device:Backend=cpu $hybrid
# go RANKS [OPTION...]: its words in "said", its files in out/
go() {
  ranks=$1 results=--overwrite
  shift
  case " $* " in *' -r '*) results='' ;; esac
  launch "$ranks" run $results run.ini "$@" > said 2>&1
}
# the largest |dE/E| that the last line says is below LIMIT
keeps() { kept=$(sed -n 's/^kept: energy to \([0-9.e+-]*\),.*/\1/p' said) && [ -n "$kept" ] && holds "$kept < $1"; }
ticks() { columns out/steps.csv substeps | sort -n | tail -n 1; }
energy() { columns out/energy.csv total | tail -n 1; }

# --- clusters whose stars are all in binaries ---
model plummer -n 256 --binaries 1 --binary-min 1e-5 --binary-max 1e-2 -s 1 -o chaos.hdf5
go 1 -P Input:InitCondFile=chaos.hdf5 && keeps 5e-6
ok $? "128 binaries with a close multiple: ${kept:-?}"
model plummer -n 256 --binaries 1 --binary-min 1e-5 --binary-max 1e-2 -s 2
for ranks in 1 2 3; do
  go $ranks && keeps 2e-6 && [ "$(ticks)" -lt 3000 ] && [ "$(columns out/steps.csv binaries | head -n 1)" -gt 60 ]
  ok $? "128 binaries on $ranks rank(s): the energy is kept (${kept:-?}), in few block steps ($(ticks))"
done
go 1 && fewer=$(ticks) &&
  ESPALIER_DEBUG=star_units=0 launch 1 run --overwrite run.ini -P Output:OutputDir=plain -P Time:TimeMax=0.015625 \
  > said 2>&1
many=$(columns plain/steps.csv substeps | sort -n | tail -n 1)
check "without units there are five times as many block steps: $many" holds "5 * $fewer < ${many:-0}"
go 1 -P Output:OutputDir=again > said 2>&1 && columns out/energy.csv total > first &&
  columns again/energy.csv total | cmp -s - first
ok $? "two runs are the same"
go 1 -P Time:TimeMax=0.125 -P Checkpoints:CheckpointAtEnd=on -P Output:OutputDir=part &&
  go 1 -r -P Output:OutputDir=part && ! has said '^energy ' &&
  [ "$(columns part/energy.csv total | tail -n 1)" = "$(tail -n 1 first)" ]
ok $? "a restart goes on as if there had been none"
go 1 -P Time:TimeMax=0.125 -P Checkpoints:CheckpointAtEnd=on -P Output:OutputDir=part &&
  go 3 -r -P Output:OutputDir=part &&
  keeps 2e-6
ok $? "also on 3 ranks: ${kept:-?}"
model plummer -n 256 --binaries 1 --binary-min 1e-7 --binary-max 1e-2 -s 2 -o tight.hdf5
go 2 -P Input:InitCondFile=tight.hdf5 && keeps 5e-6
ok $? "axes down to 1e-7: ${kept:-?}"
check "the end names the plot of star clusters" has said '^next: .*; espalier-plot cluster out$'

# --- an R1 larger than the system: units are as rare as by the distances of stars ---
wide='-P Split:R1=8 -P Split:R2=32 -P Split:SoftStep=0.015625'
for count in 12 20 100; do
  case $count in 12) seed=1 ;; 20) seed=2 ;; *) seed=3 ;; esac # 12, 20: some stars are far outside
  model plummer -n $count -s $seed -o within$count.hdf5
  for ranks in 1 2; do
    go $ranks -P Input:InitCondFile=within$count.hdf5 $wide && keeps 2e-6
    ok $? "$count stars within R1, $ranks rank(s): ${kept:-?}"
  done
done

# --- few stars, in a ring of light ones ---
system() {
  { echo "$1"
    awk 'BEGIN { for (i = 0; i < 20; i++) printf "%.6f %.6f %.6f 0 0 0 0.001\n", 3 * cos(i), 3 * sin(i), 0.1 * i - 1 }'
  } > stars.txt
}
few='-P Input:InitCondFile=stars.txt -P Split:R1=0.25 -P Split:R2=1'
for ranks in 1 2; do
  system '0.05 0 0 0 0 0 0.25
-0.05 0 0 0 0 0 0.25'
  go $ranks $few && keeps 5e-6 && [ "$(ticks)" -lt 200 ]
  ok $? "two stars that fall on each other pass, on $ranks rank(s): ${kept:-?}"
done
system '0.0005 0 0 0 11.180340 0 0.25
-0.0005 0 0 0 -11.180340 0 0.25
0 0.01 0 8.66 0 0 0.25'
go 1 $few -P Time:TimeMax=0.125 && keeps 2e-6 && [ "$(ticks)" -lt 2000 ]
ok $? "a triple: ${kept:-?}"
# a star on a circle of 1e-3 about a pair of 1e-4, which is followed, and about one of 1e-5, which is seen by its mean
for pair in '0.00005 35.35534' '0.000005 111.80340'; do
  half=${pair% *} speed=${pair#* }
  system "-0.000333333 $half 0 -$speed -9.128709 0 0.25
-0.000333333 -$half 0 $speed -9.128709 0 0.25
0.000666667 0 0 0 18.257419 0 0.25"
  go 1 $few -P Time:TimeMax=0.125 && keeps 1e-6 && [ "$(ticks)" -lt 50 ]
  ok $? "a star on a circle of 1e-3 about a pair of half a size of $half: ${kept:-?}, $(ticks) block steps"
done
# the axis of an eccentric pair: a = 1e-4, e = 0.99, at its apocentre
system '0.0000995 0 0 0 3.5444 0 0.25
-0.0000995 0 0 0 -3.5444 0 0.25'
go 1 $few -P Time:TimeMax=1 -P Output:TimeBetSnapshot=1 && keeps 2e-7 && [ "$(ticks)" -lt 200 ]
ok $? "a narrow ellipse for 180,000 orbits: ${kept:-?}"

# --- clusters on a device ---
if espalier info | grep -q 'cuda *device'; then
  for ranks in 1 2 3; do
    go $ranks -P Device:Backend=cuda && keeps 5e-6 && [ "$(ticks)" -lt 3000 ] &&
      [ "$(columns out/steps.csv binaries | head -n 1)" -gt 60 ]
    ok $? "128 binaries on a device, $ranks rank(s): the energy is kept (${kept:-?}), in few block steps ($(ticks))"
  done
  go 1 -P Device:Backend=cuda && columns out/energy.csv total > first &&
    go 1 -P Device:Backend=cuda -P Output:OutputDir=again && columns again/energy.csv total | cmp -s - first
  ok $? "two runs on a device are the same"
  go 1 -P Device:Backend=cuda -P Time:TimeMax=0.125 -P Checkpoints:CheckpointAtEnd=on -P Output:OutputDir=part &&
    go 2 -r -P Output:OutputDir=part -P Device:Backend=cpu && keeps 5e-6
  ok $? "a restart on CPUs keeps the energy too: ${kept:-?}"
fi
finish
