#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Close pairs with Integrator = hermite: what a run says of binaries, a triple, and a collision of points.
. "${srcdir:-.}/tests/harness.sh"
shown="said"
parameters run.ini Input:InitCondFile=stars.txt Output:OutputDir=out Gravity:Softening=0 Split:R1=0.25 Split:R2=1 \
  Split:SoftStep=0.0078125 Steps:Integrator=hermite Steps:Eta=0.1 Device:Backend=cpu $hybrid
# system LINES: these particles of mass 0.25, in a ring of 20 light ones
system() {
  { echo "$1"
    awk 'BEGIN { for (i = 0; i < 20; i++) printf "%.6f %.6f %.6f 0 0 0 0.001\n", 3 * cos(i), 3 * sin(i), 0.1 * i - 1 }'
  } > stars.txt
}
# go RANKS [-P ...]: its words in "said", its files in out/
go() {
  ranks=$1 results=--overwrite
  shift
  case " $* " in *' -r '*) results='' ;; esac
  launch "$ranks" run $results run.ini "$@" > said 2>&1
}
column() { columns out/steps.csv "$1"; }
  sed '/^#/d' out/steps.csv |
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }'

# a circular binary of semi-major axis 0.001: relative velocity sqrt(0.5 / 0.001)
binary='0.0005 0 0 0 11.180340 0 0.25
-0.0005 0 0 0 -11.180340 0 0.25'
system "$binary"
go 1 -P Time:TimeMax=0.125 && [ "$(column binaries | sort -u)" = 1 ] &&
  column shortest_period | awk '{ bad += !($1 > 2.80e-4 && $1 < 2.82e-4) } END { exit bad || !NR }' &&
  column largest_eccentricity | awk '{ bad += !($1 < 1e-3) } END { exit bad || !NR }'
ok $? "steps.csv has the number of binaries, their shortest period and largest eccentricity"
[ "$(column substeps | sort -n | tail -n 1)" -lt 1000 ] && ! grep -q -e collapsed -e triple said
ok $? "and their orbits take no steps"

# What follows is of stars without units, as on GPUs.
export ESPALIER_DEBUG=star_units=0

# with a third star on a circle of 0.01 about it: 28 orbits of the inner pair in a soft step
system "$binary
0 0.01 0 8.66 0 0 0.25"
go 1 -P Time:TimeMax=0.5625 && [ "$(column binaries | sort -u)" = 0 ] && tr -s '\n ' '  ' < said > one &&
  has one \
  'warning: at time 0.5 the bound pair of particles 1 and 2 .* now particle 3, .* for the 64th soft step: a triple'
ok $? "a triple is named after 64 soft steps"
check "once" test "$(grep -c 'the bound pair of' said)" = 1

# two stars at rest fall on each other
for ranks in 1 2; do
  rm -rf out
  system '0.05 0 0 0 0 0 0.25
-0.05 0 0 0 0 0 0.25'
  go $ranks -P Time:TimeMax=0.5
  [ $? = 3 ] && has said '^warning: at time 0.05[0-9]* the step of particle [12] at (.*) collapsed:$' &&
    has said 'nearest neighbour, particle [12], is at a distance' && has said 'the run ends with a checkpoint' &&
    grep -q -x 'reason=steps of a close pair collapsed' out/status && has out/status '^checkpoint=checkpoint_' &&
    grep -q -x 'state=untrusted' out/status && [ ! -e out/cont ]
  ok $? "a collision of two points on $ranks rank(s): who, where, a checkpoint, exit status 3, state=untrusted"
  cp said ended
  go $ranks -P Time:TimeMax=0.5 -r
  [ $? = 1 ] && has said 'after the step of a close pair had collapsed (time 0.05.* with a SoftStep below 0.00781'
  ok $? "a restart from that checkpoint without a change of the steps is refused"
done
grep '^checkpoint_step' out/status > before
go 2 -P Time:TimeMax=0.5 -P Checkpoints:TimeBetCheckpoints=3 -r
[ $? = 1 ] && grep '^checkpoint_step' out/status | cmp -s - before && [ ! -e out/cont ]
ok $? "also with a change of something else"
go 2 -P Time:TimeMax=0.5 -P Split:SoftStep=0.001953125 -r -n 30
[ $? = 3 ] && lacks said 'ends with a checkpoint' &&
  has out/status '^reason=.*the step of a close pair collapsed at time 0.05' &&
  [ "$(column step | tail -n 1)" = 30 ]
ok $? "with a smaller SoftStep it goes on, and is not trusted at its end"
# the soft step of the collapse is the last one
last=$(sed -n 's/^.*at time \(0.05[0-9]*\) the step of.*/\1/p' ended)
rm -rf out
go 1 -P Time:TimeMax="$last" -P Checkpoints:CheckpointAtEnd=on
[ $? = 3 ] && grep -q -x "reason=TimeMax; the step of a close pair collapsed at time $last .*" out/status
ok $? "a collapse in the last soft step: not trusted"
go 1 -P Time:TimeMax=0.5 -r
[ $? = 1 ] && has said 'after the step of a close pair had collapsed'
ok $? "and its checkpoint is refused"

# at the same place from the start
rm -rf out
for ranks in 1 2; do
  system '0.5 0 0 1 0 0 0.25
0.5 -0 0 0 0 0 0.25
-1 0.5 0 0 0 0 0.25
-1 0.5 0 0 0 0 0.25'
  go $ranks -P Time:TimeMax=0.5
  [ $? = 1 ] && [ ! -e out ] &&
    has said 'particles 1 and 2 are at the same place, (0.5, 0, 0); so is 1 other: their force has no value with' &&
    has said 'no value with Softening = 0; move'
  ok $? "two particles at the same place on $ranks rank(s) are named, and nothing is started"
done
go 1 -P Time:TimeMax=0.0078125 -P Gravity:Softening=0.001
ok $? "with a softening they may be"
for place in 1e-6 0 1e6; do
  echo "$place 0 0 1 0 0 2" > stars.txt
  go 1 -P Time:TimeMax=0.0625 && ! grep -q warning said
  ok $? "one particle, at $place, runs"
done
printf '%s\n' '1e-6 0 0 0 1 0 1' '-1e-6 0 0 0 -1 0 1' > stars.txt
go 1 -P Time:TimeMax=0.5
[ $? = 1 ] && has said \
  'Softening = 0, and coordinates are at most 1e-06: .* choose a unit of length so that coordinates are about 1'
ok $? "two that are too near each other for single precision: what to do"
finish
