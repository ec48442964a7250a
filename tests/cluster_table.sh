#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# cluster.csv: a cluster alone, with softening, in a rotating frame, and on orbits in potentials, against numbers of
# matrices of all pairs from the snapshots of the same times; Snapshot.cluster; ranks, restarts, mistakes.
. "${srcdir:-.}/tests/harness.sh"
with_python "h5py, numpy" || skip_all "no python3 with h5py and numpy"
shown='said err'
numbers() { "$python" "$src/tests/cluster_table.py" "$@" > said 2> err; }
# start X VY SECTION:NAME=VALUE...: a cluster there, and the parameters of its runs
start() {
  numbers ic ic.txt "$1" "$2"
  shift 2
  parameters run.ini Input:InitCondFile=../ic.txt Output:OutputDir=out Output:TimeBetSnapshot=0.03125 \
    Time:TimeMax=0.0625 Output:TimeBetStatistics=0.015625 Checkpoints:CheckpointAtEnd=on Gravity:Softening=0 \
    Split:R1=0.04 Split:R2=0.16 Split:SoftStep=0.0078125 Split:Kernel=septic Steps:Integrator=hermite Steps:Eta=0.1 \
    Device:Backend=cpu Device:Tuning=frozen Output:Cluster=on $hybrid "$@"
}
# agrees RUN OMEGA TIDE SOFTENING: checks of its first and last snapshot
agrees() {
  [ $status = 0 ] && [ "$(rows "$1/out/cluster.csv" | wc -l)" = 6 ] && [ "$(columns "$1/out/cluster.csv" time)" = \
    "$(columns "$1/out/energy.csv" time)" ]
  ok $? "$1: rows at the times of energy.csv"
  for which in 0 2; do
    for other in row python; do
      numbers $other "$1/out/cluster.csv" "$1/out/snapshot_00$which.hdf5" "$2" "$3" "$4"
      ok $? "$1: the row of snapshot $which is that of $other ($(sed -n 's/^# bound_stars *\([0-9]*\) .*/\1 bound/p
        s/^# jacobi_stars *\([0-9][0-9]*\) .*/, \1 within the Jacobi radius/p' said | tr -d '\n'))"
    done
  done
}

# --- alone ---
start 0 0
for ranks in 1 2 3; do go alone$ranks $ranks; done
agrees alone3 0 0 0
agrees alone1 0 0 0
has said '^# pairs  *1[0-9] ' && has said '^# segregation  *0\.[4-7]'
ok $? "with pairs, and with heavy stars inside"
for ranks in 2 3; do
  for run in alone1 alone$ranks; do rows $run/out/cluster.csv | sed -n 2p > $run.first; done
  for run in alone1 alone$ranks; do columns $run/out/cluster.csv bound_stars pairs > $run.counts; done
  cmp alone1.first alone$ranks.first && cmp alone1.counts alone$ranks.counts
  ok $? "on 1 and $ranks ranks the same first row, and the same bound stars and pairs in all"
done
go off 1 -P Output:Cluster=off
[ $status = 0 ] && [ ! -e off/out/cluster.csv ] && same_rows alone1/out/energy.csv off/out/energy.csv &&
  judge same alone1/out/snapshot_002.hdf5 off/out/snapshot_002.hdf5
ok $? "the same orbits without it"
go soft 1 -P Gravity:Softening=0.01 -P Split:Mode=tree -P Split:R1=0 -P Split:R2=0 -P Split:SoftStep=0 \
  -P Steps:Integrator=leapfrog -P Steps:Scheme=shared -P Steps:FixedStep=0.0078125 -P Steps:Eta=0
agrees soft 0 0 0.01

# a close group that is no system: heavy stars with fast orbits do not carry the frame of the others away
start 0 0
printf '0.3 0 0 0 4 0 0.04\n0.301 0 0 0 -8 0 0.02\n0.3 0.0008 0 0 8 0 0.015\n' >> ic.txt
go group 1 -n 0
[ $status = 0 ] && numbers row group/out/cluster.csv group/out/snapshot_000.hdf5 0 0 0 &&
  [ "$(columns group/out/cluster.csv bound_stars)" -gt "$(columns alone1/out/cluster.csv bound_stars | sed -n 1p)" ]
ok $? "with a close group of heavy stars no others are lost: $(columns group/out/cluster.csv bound_stars) are bound"

# drawn NAME TITLE: espalier-plot cluster of the snapshots of a run, without its cluster.csv
drawn() {
  mkdir "$1/alone" && cp "$1"/out/snapshot_*.hdf5 "$1/alone" && numbers drawn "$1/out/cluster.csv" "$1/alone"
  ok $? "$2"
}
with_python "h5py, numpy, matplotlib" && plots=yes || { plots=no && with_python "h5py, numpy"; }
[ $plots = no ] || drawn alone1 "espalier-plot cluster has the bound mass from snapshots alone"

# --- restarts ---
start 0 0
for ranks in 1 3; do
  go parts$ranks $ranks -n 3
  go parts$ranks $ranks -n 6 -r
  go parts$ranks $ranks -r
  [ $status = 0 ] && same_rows alone$ranks/out/cluster.csv parts$ranks/out/cluster.csv
  ok $? "$ranks rank(s): the same rows in three parts"
done
go later 1 -P Output:Cluster=off -n 3
go later 1 -r -P Output:Cluster=on
[ $status = 0 ] && [ "$(columns later/out/cluster.csv time | tr '\n' ' ')" = '0.03125 0.046875 0.0625 ' ]
ok $? "switched on at a restart"

# --- in fields ---
start 0 0 'External:TidalField=omega=0.3 kappa=0.45'
go turns 1
agrees turns 0.3 0.1575 0
awk -F, '!/^#/ && $1 != "time" { n += $22 > 0; bad += $11 > $22 } END { exit bad || !n }' turns/out/cluster.csv &&
  has turns/out/cluster.csv '^# bound: .*Jacobi radius'
ok $? "no more stars are bound than are within the Jacobi radius, and a comment says what is bound"
[ $plots = no ] || drawn turns "... and the Jacobi radius in a frame that turns"
go oort 1 -P 'External:TidalField=A=0.2 B=-0.1'
[ $plots = no ] || drawn oort "... and by Oort's constants"
go still 1 -P 'External:TidalField=omega=0.3 kappa=0.6'
[ $status = 0 ] && [ -z "$(columns still/out/cluster.csv jacobi_radius tide | tr -d ' \n')" ]
ok $? "a tidal field without a tide (kappa = 2 omega) has no Jacobi radius"
# a flat rotation curve: 2 v^2 / R^2; the centre of density is a little off
start 40 12 'External:Potential1=logarithmic velocity=12'
go orbit 1
[ $status = 0 ] && numbers tide orbit/out/cluster.csv 0.18 0.02
ok $? "a circular orbit in a logarithmic potential: $(cat said)"
tide=$(columns orbit/out/cluster.csv tide | sed -n 1p)
cp orbit/out/snapshot_000.hdf5 . && rows orbit/out/cluster.csv | sed -n 1,2p > first.csv
check "its Jacobi radius and bound stars" numbers row first.csv snapshot_000.hdf5 0 "$tide" 0
if ${CC:-cc} -shared -fPIC -o stub.so "$src/tests/agama_stub.c" -lm > said 2>&1; then
  go native 1 -P 'External:Potential1=plummer mass=9000 scale=12' -P Time:TimeMax=0.015625
  go agama 1 -P External:Potential1= -P 'External:Agama=type=Plummer, mass=9000, scaleRadius=12' \
    -P External:AgamaLibrary=../stub.so -P Time:TimeMax=0.015625
  for run in native agama; do columns $run/out/cluster.csv tide jacobi_stars bound_stars | sed -n 1p; done > said
  [ $status = 0 ] && awk 'NR == 1 { t = $1; s = $2 " " $3 } END { d = $1 / t - 1
    exit !(NR == 2 && t > 0 && d * d < 1e-12 && s == $2 " " $3) }' said
  ok $? "the tide of Agama's potential is that of the same one: $(tr '\n' ';' < said)"
else
  skip "Agama's tide" "no C compiler"
fi
start 0 0 'External:Potential1=plummer mass=3 scale=5'
go centred 1 -P Time:TimeMax=0.015625
[ $status = 0 ] && [ -z "$(columns centred/out/cluster.csv jacobi_radius | tr -d ' \n')" ]
ok $? "at the centre of a potential there is no Jacobi radius"

# --- clustertools, with the recipe of doc/readers.md ---
# ESPALIER_CLUSTERTOOLS names a python3 that has clustertools (from PyPI).
shown='said err'
for clustertools in ${ESPALIER_CLUSTERTOOLS:+"$ESPALIER_CLUSTERTOOLS"} python3; do
  "$clustertools" -c 'import clustertools' 2> /dev/null && break
  clustertools=
done
if [ -n "$clustertools" ]; then
  mkdir -p output && cp alone1/out/snapshot_000.hdf5 output
  awk '/^## / { here = $0 == "## clustertools" } /^```/ { code = here && /python/; next } code' "$src/doc/readers.md" \
    > recipe.py
  cat >> recipe.py << 'END'
import numpy as np
cluster.energies()
apart = np.linalg.norm(pos[:, None] - pos[None], axis=2)
np.fill_diagonal(apart, np.inf)
bound = (vel**2).sum(axis=1) / 2 < (mass / apart).sum(axis=1)   # each star by itself, among all
radius = np.linalg.norm(pos, axis=1)
order = radius.argsort()
half = radius[order][np.searchsorted(mass[order].cumsum(), mass.sum() / 2)]
print("#", cluster.ntot, cluster.mtot, cluster.rm, half, (cluster.etot < 0).sum(), bound.sum())
assert cluster.ntot == len(mass) and abs(cluster.mtot / mass.sum() - 1) < 1e-6 and abs(cluster.rm / half - 1) < 0.02
assert (cluster.etot < 0).sum() == bound.sum()
END
  try timeout 120 "$clustertools" recipe.py
  ok $? "clustertools has the stars of a snapshot: $(grep '^half' said | tail -n 1)"
else
  skip clustertools "no python3 has it (pip install clustertools; ESPALIER_CLUSTERTOOLS names the python3)"
fi

# --- few stars, and mistakes ---
head -n 3 ic.txt > few.txt
go few 1 -P Input:InitCondFile=../few.txt -P External:Potential1= -P Time:TimeMax=0.015625
[ $status = 0 ] && [ "$(columns few/out/cluster.csv stars core_radius relaxation_time | sed -n 1p)" = '3  ' ]
ok $? "three stars: a row without core and relaxation time"
refused "Cluster=maybe: expected one of off or on, found 'maybe'" -P Output:Cluster=maybe
refused "Cluster = on and Comoving = on .*: expected Cluster = off: in comoving coordinates" -P Cosmology:Comoving=on \
  -P External:Potential1=
export ESPALIER_DEBUG=binaries_most=99
go many 1 -P External:Potential1= -P Time:TimeMax=0.015625 --check
[ $status = 0 ] && has many/log 'Cluster = on: cluster.csv is not written, for 563 particles; at most 99 are'
ok $? "run --check warns of too many particles"
go many 1 -P External:Potential1= -P Time:TimeMax=0.015625
[ $status = 0 ] && has many/err 'warning: .*cluster.csv is not written' && [ ! -e many/out/cluster.csv ]
ok $? "a run of too many particles goes on without it"
finish
