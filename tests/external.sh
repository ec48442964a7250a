#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# External potentials: orbits of test stars against formulas and an integration of its own, a cluster on a circular
# orbit, a tidal field, a potential that moves, a library with Agama's interface; restarts, ranks, mistakes.
. "${srcdir:-.}/tests/harness.sh"
limit=600   # of a run, at most: on a busy machine two ranks wait for each other

# field TIME VALUE...: run.ini, for ../ic.txt; the values are those of [External], or Section:Name=value
field() {
  end=$1
  shift
  for word; do
    case $word in [A-Z]*:*=*) set -- "$@" "$word" ;; *) set -- "$@" "External:$word" ;; esac
    shift
  done
  parameters run.ini $parts Input:InitCondFile=../ic.txt Output:TimeBetSnapshot=0 Gravity:Softening=0.01 \
    Time:TimeMax=$end \
    Output:SubstepLog= Split:SoftStep= Split:Mode= Steps:Scheme= "$@"
}
# star X Y Z VX VY VZ: one light star
star() { echo "$* 1e-9" > ic.txt; }
# rows RUN COLUMN...: of energy.csv
rows() { of=$1 && shift && columns "$of/out/energy.csv" "$@"; }
# conserved RUN LIMIT: the total energy
conserved() {
  rows "$1" total | awk -v limit="$2" -v run="$1" \
    'NR == 1 { first = $1 } { d = ($1 - first) / first; if (d < 0) d = -d; if (d > most) most = d }
    END { printf "# %s: %d rows, largest |dE/E| %.2e\n", run, NR, most; exit !(NR > 20 && most < limit) }'
}

# --- each potential: v^2 of the circular orbit at x = 1, with G = 1
while read -r kind v2 numbers; do
  v=$(awk "BEGIN { printf \"%.17g\", sqrt($v2) }")
  field 3 "Potential1 = $kind $numbers"
  case $kind in point | miyamoto-nagai)
    star 1 0 0 0 "$v" 0
    go "circular-$kind" 1 -P Split:Mode=tree -P Time:TimeMax=4
    ends 0 && quiet && conserved "circular-$kind" 1e-5 && rows "circular-$kind" time com_x com_y com_z |
      awk -v v="$v" '{ d = sqrt(($2 - cos(v * $1)) ^ 2 + ($3 - sin(v * $1)) ^ 2) + sqrt($4 ^ 2);
        if (d > most) most = d }
        END { printf "# off the circle by at most %.1e\n", most; exit !(most < 2e-4) }'
    ok $? "$kind: the circular orbit has the velocity and the period of the formula" ;;
  esac
  # twelve stars with 0.6 to 1 of the circular velocity, in planes of their own
  awk -v v="$v" 'BEGIN { for (k = 0; k < 12; k++) { a = 0.5 * k; f = v * (0.6 + 0.4 * (k % 4) / 3); c = cos(0.2 * k);
    s = sin(0.2 * k)
    printf "%.17g %.17g 0 %.17g %.17g %.17g 1e-9\n", cos(a), sin(a), -f * sin(a) * c, f * cos(a) * c, f * s } }' \
      > ic.txt
  # deep pericentres all at once; an energy near 0
  case $kind in point | logarithmic) limit_of_error=4e-5 ;; *) limit_of_error=1e-5 ;; esac
  for mode in tree auto; do
    [ $mode = tree ] || [ "$kind" = nfw ] || continue
    go "$mode-$kind" 1 -P Split:Mode=$mode
    ends 0 && quiet && conserved "$mode-$kind" $limit_of_error
    ok $? "$kind, Mode = $mode: the energy of eccentric orbits is conserved"
  done
done << END_OF_TABLE
point 2 mass=2
plummer 2/1.49^1.5 mass=2 scale=0.7
isochrone 3/(sqrt(1.16)*(0.4+sqrt(1.16))^2) mass=3 scale=0.4
logarithmic 2.25/1.04 velocity=1.5 core=0.2
nfw 4*(log(1+1/1.2)-1/2.2) mass=4 scale=1.2
hernquist 4/2.2^2 mass=4 scale=1.2
miyamoto-nagai 3/2.44^1.5 mass=3 a=1 b=0.2
END_OF_TABLE

# --- the tidal field
star 0.5 0 0.2 0 -1 0
field 9 'TidalField = omega=1 kappa=1.4'
go epicycle 1 -P Split:Mode=tree
ends 0 && conserved epicycle 1e-5 && rows epicycle time com_x com_y com_z |
  awk '{
    d = sqrt(($2 - 0.5 * cos(1.4 * $1)) ^ 2) + sqrt(($3 + sin(1.4 * $1) / 1.4) ^ 2) + sqrt(($4 - 0.2 * cos($1)) ^ 2);
    if (d > most) most = d }
    END { printf "# off the epicycle by at most %.1e\n", most; exit !(most < 2e-4) }'
ok $? "tidal field: an epicycle is that of the formula, and total is its Jacobi integral"
# the tidal radius of a mass 2 is (G M / (4 omega^2 - kappa^2))^(1/3) = 1: a star at rest there stays, one further out
# leaves, one within falls
for x in 1 1.01 0.99; do
  star $x 0 0 0 0 0
  field 1.5 'TidalField = omega=1 kappa=1.4142135623730951' 'Potential1 = point mass=2'
  go tide-$x 1 -P Split:Mode=tree
  rows tide-$x com_x | tail -n 1
done > tides
shown="tides"
awk '{ x[NR] = $1 } END { printf "# %s\n", x[1] " " x[2] " " x[3];
  exit !(x[1] > 0.99999 && x[1] < 1.00001 && x[2] > 1.05 && x[3] < 0.95) }' tides
ok $? "tidal field and a potential: the tidal radius is that of the formula"

# --- a potential that moves past a star
awk 'BEGIN { for (k = -5; k <= 45; k++) printf "%.17g %.17g 0.5 0 1 0 0\n", 0.2 * k, 0.2 * k - 4 }' > orbit.txt
star 0 0 0 0 0 0.1
field 8 'Potential1 = plummer mass=0.5 scale=0.3 orbit=../orbit.txt' \
  'Potential2 = logarithmic velocity=1 core=0.5 q=0.8 centre=0,0,0.1'
go moving 1 -P Split:Mode=tree
ends 0 && quiet && grep -q 'largest |dE/E| -' moving/log && rows moving com_x com_y com_z | tail -n 1 | awk '
  # Runge-Kutta of fourth order, 20000 steps
  function force(t, p,   x, y, z, s) {
    x = p[0] - t + 4; y = p[1] - 0.5; z = p[2]; s = 0.5 / (x * x + y * y + z * z + 0.09) ^ 1.5
    a[0] = -s * x; a[1] = -s * y; a[2] = -s * z
    z = p[2] - 0.1; s = 1 / (0.25 + p[0] ^ 2 + p[1] ^ 2 + z * z / 0.64)
    a[0] -= s * p[0]; a[1] -= s * p[1]; a[2] -= s * z / 0.64
  }
  { v[2] = 0.1; x[0] = x[1] = x[2] = v[0] = v[1] = 0; n = 20000; h = 8 / n
    for (k = 0; k < n; k++) {
      for (c = 0; c < 3; c++) { sx[c] = sv[c] = 0; y[c] = x[c]; w[c] = v[c] }
      for (q = 0; q < 4; q++) {
        force(h * (k + (q == 0 ? 0 : q == 3 ? 1 : 0.5)), y)
        g = q == 0 || q == 3 ? 1 : 2; e = q == 2 ? h : h / 2
        for (c = 0; c < 3; c++) { sx[c] += g * w[c]; sv[c] += g * a[c]; y[c] = x[c] + e * w[c]; w[c] = v[c] + e * a[c] }
      }
      for (c = 0; c < 3; c++) { x[c] += h / 6 * sx[c]; v[c] += h / 6 * sv[c] }
    }
    d = sqrt(($1 - x[0]) ^ 2 + ($2 - x[1]) ^ 2 + ($3 - x[2]) ^ 2); r = sqrt(x[0] ^ 2 + x[1] ^ 2 + x[2] ^ 2)
    printf "# at %.3g %.3g %.3g, off an integration of its own by %.1e\n", $1, $2, $3, d; exit !(d < 2e-4 && r > 0.1) }'
ok $? "a potential on an orbit: the star moves as in an integration of its own, and no energy error is claimed"

# one that flies past much faster than anything moves: the reference is of Runge-Kutta's method of fourth order with
# 80000 steps
awk 'BEGIN { for (k = -30; k <= 30; k++) printf "%.17g %.17g 0.5 0\n", 0.02 * k + 0.4, 2 * k }' > orbit.txt
star 0 0 0 0 0 0.1
field 0.8 'Potential1 = plummer mass=0.5 scale=0.3 orbit=../orbit.txt'
go past 1 -P Split:Mode=tree
ends 0 && quiet && rows past com_x com_y com_z | tail -n 1 | awk '
  { d = sqrt(($1 + 0.000391957) ^ 2 + ($2 - 0.005853931) ^ 2 + ($3 - 0.079532077) ^ 2);
  printf "# off by %.1e of %.1e\n", d, 0.005853931; exit !(d < 1.5e-5) }'
ok $? "a potential that flies past a star is not missed between two steps"

# --- a cluster of 500 stars on a circular orbit
# ------------------------------------------------------------------------------------ Plummer's sphere of mass 1 and
# scale 0.1 at x = 10, where the field has v = 5: the tidal radius is (1 / (2 * 0.25))^(1/3) = 1.26
awk 'BEGIN { s = 4711
  while (n < 500) {
    for (k = 0; k < 7; k++) { s = (s * 16807) % 2147483647; u[k] = s / 2147483647 }
    r = 0.1 / sqrt(u[0] ^ (-2 / 3) - 1)
    if (r > 0.8 || 0.1 * u[2] > u[1] ^ 2 * (1 - u[1] ^ 2) ^ 3.5) continue
    z = 2 * u[3] - 1; p = 6.2831853 * u[4]; e = u[1] * sqrt(2) * (r * r + 0.01) ^ -0.25; w = 2 * u[5] - 1;
    f = 6.2831853 * u[6]
    printf "%.17g %.17g %.17g %.17g %.17g %.17g 0.002\n", 10 + r * sqrt(1 - z * z) * cos(p),
      r * sqrt(1 - z * z) * sin(p), r * z, e * sqrt(1 - w * w) * cos(f), 5 + e * sqrt(1 - w * w) * sin(f), e * w
    n++
  } }' > ic.txt
field 0.5 'Potential1 = logarithmic velocity=5' Gravity:Softening=0.03 Output:TimeBetSnapshot=0.25
for ranks in 1 2 3; do
  go cluster-$ranks $ranks -P Split:Mode=tree -P Accuracy:Repeatable=on -P Accuracy:Accuracy=fine
  ends 0 && quiet && conserved cluster-$ranks 1e-5 && rows cluster-$ranks time total angular_z com_x com_y |
    awk '{ j = $2 - 0.5 * $3; r = sqrt($4 ^ 2 + $5 ^ 2); if (NR == 1) { first = j; at = r }
      d = (j - first) / first; if (d < 0) d = -d; if (d > most) most = d; if ((r - at) ^ 2 > off ^ 2) off = r - at }
    END { printf "# Jacobi integral %.6g, change %.1e; radius of the orbit within %.1e; at %.3g, %.3g\n", j, most, off,
      $4, $5
      exit !(most < 1e-5 && off ^ 2 < 0.1 ^ 2 && $5 > 2) }'
  ok $? "a cluster on a circular orbit, $ranks ranks: energy, Jacobi integral and orbit"
done
table '$at["type"] == -1 { r = $at["virial_ratio"]; n++; bad += r == "" || r < 0.8 || r > 1.3 }
  END { printf "# %d rows, %d are bad, the last one has %s\n", n, bad, r; exit !(n > 1 && !bad) }' \
    cluster-1/out/analysis.csv
ok $? "... its virial ratio is about 1: the potential of the field has no part in it"
for ranks in 2 3; do
  for run in 1 $ranks; do rows cluster-$run total com_x com_y angular_z | tail -n 1; done |
    awk 'NR == 1 { for (k = 1; k <= 4; k++) x[k] = $k; next }
      { for (k = 1; k <= 4; k++) { d = ($k - x[k]) / x[k]; if (d < 0) d = -d; if (d > most) most = d } }
      END { printf "# largest difference %.1e\n", most; exit !(most < 1e-6) }'
  ok $? "it is the same on 1 and on $ranks ranks"
done
again=
for part in 10 20; do go parts-2 2 -n $part -P Split:Mode=tree -P Accuracy:Repeatable=on \
  -P Accuracy:Accuracy=fine $again; again=-r; done
go parts-2 2 -r -P Split:Mode=tree -P Accuracy:Repeatable=on -P Accuracy:Accuracy=fine
ends 0 && cmp cluster-2/out/snapshot_002.hdf5 parts-2/out/snapshot_002.hdf5 && cmp cluster-2/out/energy.csv \
  parts-2/out/energy.csv
ok $? "a restart has the same bits"
# the same cluster in the frame that turns with it: the Jacobi integral is the cluster's own energy, not that of its
# orbit
awk '{ print $1 - 10, $2, $3, $4, $5 - 5, $6, $7 }' ic.txt > still.txt
field 0.5 'TidalField = omega=0.5 kappa=0.70710678118654757' Gravity:Softening=0.03 Input:InitCondFile=../still.txt
go still 1 -P Split:Mode=tree -P Accuracy:Accuracy=finest
ends 0 && quiet && conserved still 1e-5
ok $? "a cluster in the tidal field of this potential: its Jacobi integral is kept"
# in a rotating frame the centre of mass moves on an epicycle, whatever the errors of the tree's forces; each integrator
awk '{ print $1 - 9.5, $2, $3 + 0.2, $4, $5 - 6, $6, $7 }' ic.txt > turned.txt
mv turned.txt ic.txt
field 0.3 'TidalField = omega=1 kappa=1.4' Gravity:Softening=0.03
for mode in tree hybrid hermite; do
  case $mode in
    hermite) set -- -P Steps:Integrator=hermite -P Split:SoftStep=0.005 ;;
    *) set -- -P Split:Mode=$mode ;;
  esac
  go turned-$mode 2 -P Gravity:ErrTolForceAcc=0.02 "$@"
  ends 0 && rows turned-$mode time com_x com_y com_z momentum_x momentum_y momentum_z momentum_removed | awk '
    NR == 1 { x = $2; y = $3; z = $4; u = $5; v = $6; w = $7; h = v + 2 * x; g = 2 * h / 1.96 }
    { t = $1; c = cos(1.4 * t); s = sin(1.4 * t)
      X = g + (x - g) * c + u / 1.4 * s; Y = y + (h - 2 * g) * t - 2 / 1.4 * (x - g) * s + 2 * u / 1.96 * (c - 1);
      Z = z * cos(t) + w * sin(t)
      d = sqrt(($2 - X) ^ 2 + ($3 - Y) ^ 2 + ($4 - Z) ^ 2); if (d > most) most = d; removed += $8 }
    END { printf "# %d rows, the centre is off by %.1e, the momentum taken out %.1e\n", NR, most, removed;
    exit !(NR > 10 && most < 2e-6 && removed > 1e-7) }'
  ok $? "a cluster in a tidal field, $mode: its centre moves on an epicycle"
done
awk 'BEGIN { for (k = -5; k <= 45; k++) printf "%.17g %.17g 0.5 0 1 0 0\n", 0.2 * k, 0.2 * k - 4 }' > orbit.txt
star 0.5 0 0.2 0 -1 0
field 2 'TidalField = omega=1 kappa=1.4' 'Potential1 = plummer mass=0.1 scale=0.3 orbit=../orbit.txt'
go one-1 1 -P Split:Mode=tree
go one-3 3 -P Split:Mode=tree -n 5
go one-3 3 -P Split:Mode=tree -r -P 'External:Potential1=plummer mass=0.2 scale=0.3'
ends 1 'Potential1 = plummer mass=0.2 scale=0.3, but the checkpoint was made with plummer mass=0.1 .*: this cannot be'
ok $? "another potential at a restart is refused"
cp orbit.txt kept.txt
awk '$1 == 0 { $2 += 1e-3 } { print }' kept.txt > orbit.txt
go one-3 3 -P Split:Mode=tree -r
ends 1 'orbit.txt (Potential1) up to time .*, that of the checkpoint, differs .*: give the table of before, to' &&
  says 1 'orbit.txt (Potential1) up to time .* differs from what' -- \
    eval "(cd one-3 && espalier run --check -r -P Split:Mode=tree ../run.ini)"
ok $? "another table of the orbit at a restart is refused, and by --check -r"
head -n 12 kept.txt > orbit.txt
check "--check -r: a table that does not cover the run is refused" says 1 'expected a table that covers the run' -- \
  eval "(cd one-3 && espalier run --check -r -P Split:Mode=tree -P Time:MaxSizeTimestep=0.01 ../run.ini)"
awk '{ print } END { print 9.2, $2 + 0.3, 0.5, 0 }' kept.txt > orbit.txt
mkdir -p more && cp -r one-3/out more/out
go more 3 -P Split:Mode=tree -r
ends 0
ok $? "a table that only has more rows at its end is accepted"
mv kept.txt orbit.txt
go one-3 3 -P Split:Mode=tree -r
for run in one-1 one-3; do grep -v '^#' "$run/out/energy.csv" > "$run.rows"; done
ends 0 && [ "$(wc -l < one-1.rows)" -gt 20 ] && cmp one-1.rows one-3.rows
ok $? "one star in a rotating frame with a moving potential: a restart, more ranks than particles: the same bits"

# --- Agama's interface
if ${CC:-cc} -shared -fPIC -o stub.so "$src/tests/agama_stub.c" -lm > said 2>&1; then
  awk 'BEGIN { for (k = 0; k < 12; k++) printf "%.17g %.17g %.17g %.17g %.17g 0 1e-3\n", cos(k), sin(k),
    0.1 * cos(3 * k), -0.9 * sin(k), 0.9 * cos(k) }' > ic.txt
  field 2 'Potential1 = plummer mass=1.2 scale=0.7'
  go native 1 -P Split:Mode=tree -P Time:MaxSizeTimestep=0.0078125
  field 2 'Agama = ../plummer.ini' 'AgamaLibrary = ../stub.so'
  echo 'type=Plummer, mass=1.2, scaleRadius=0.7' > plummer.ini
  for ranks in 1 2; do
    go agama-$ranks $ranks -P Split:Mode=tree -P Time:MaxSizeTimestep=0.0078125
    for run in native agama-$ranks; do rows $run time total com_x com_y angular_z; done | awk \
      '{ x[NR] = $0; n = NR } END { for (k = 1; k <= n / 2; k++) { split(x[k], a, " ");
        split(x[k + n / 2], b, " ")
        for (c = 1; c <= 5; c++) { d = a[c] - b[c]; if (d < 0) d = -d; if (d > most) most = d } }
        printf "# %d rows, largest difference %.1e\n", n / 2, most; exit !(n > 40 && most < 1e-10) }'
    good=$?
    ends 0 && [ $good = 0 ]
    ok $? "Agama's interface, $ranks ranks: the orbits are those of the same potential of the program"
  done
  # a potential of a file that names another one; the stub reads the first line
  echo 'coefficients' > coef.txt
  printf '%s\n' 'type=Plummer, mass=1.2, scaleRadius=0.7' 'density = ../coef.txt  # of a multipole' > plummer.ini
  go agama-part 1 -P Split:Mode=tree -n 5
  sed 's/1.2/1.3/' plummer.ini > other.ini && cp plummer.ini kept.ini && cp other.ini plummer.ini
  go agama-part 1 -P Split:Mode=tree -r
  ends 1 'plummer.ini (Agama) differs from what the run was made with: .*: give the file of before, or start a new run'
  ok $? "another file of Agama at a restart is refused"
  cp kept.ini plummer.ini && echo 'other coefs.' > coef.txt
  go agama-part 1 -P Split:Mode=tree -r
  ends 1 'coef.txt (Agama) differs from what the run was made with'
  ok $? "... and so is another file that it names"
  rm coef.txt
  check "... and one that is missing" says 1 'Agama: a file that the potential names is missing' -- \
    eval "(cd agama-part && espalier run --check -r -P Split:Mode=tree ../run.ini)"
  echo 'coefficients' > coef.txt
  go agama-part 1 -P Split:Mode=tree -r
  ends 0
  ok $? "with the same files it goes on"
  go agama-free 1 -P Split:Mode=tree -P 'External:Agama=type=Plummer, mass=1.2, scaleRadius=0.7'
  ends 0 && conserved agama-free 1e-5
  ok $? "Agama's field as text: steps by rule conserve the energy"
  mkfifo pipe
  echo 'type=Multipole, file=../pipe' > names.ini
  for text in ../pipe file=../pipe 'type=Plummer, file=../pipe' ../names.ini; do
    limit=20 go waits 1 -P Split:Mode=tree -P "External:Agama=$text" -n 1
    ends 1 'Agama: ../pipe is not a regular file: give a file, or the potential itself$'
    ok $? "a FIFO as a file of Agama is refused ($text)"
  done
  star 0 0 0 0 0 0
  go infinite 1 -P Split:Mode=tree -P 'External:Agama=type=Plummer, mass=1, scaleRadius=0'
  ends 1 '1 particle has values that are not finite (in the potential of Agama)'
  ok $? "Agama's potential is not finite: a message"
  go bad-agama 1 -P External:Agama=type=Bar
  ends 1 "Agama = type=Bar: the stub knows no 'type=Bar'" && [ ! -e bad-agama/out ]
  ok $? "what the library says of a bad potential is the message"
else
  skip "Agama's interface" "no C compiler"
fi

# --- steps that do not suit
awk 'BEGIN { for (k = 0; k < 12; k++) printf "%.17g %.17g 0 %.17g %.17g 0 1e-3\n", cos(k), sin(k), -sin(k), cos(k);
  print "1e-3 0 0 0 30 0 1e-3" }' > ic.txt
field 2 'Potential1 = point mass=1'
check "run --check: orbits deep in a potential are named" says 0 \
  'warning: orbits in the external field need soft steps of [0-9.]*e-07, where the particles alone need [0-9.e-]*:' \
  ': some are deep in the centre' -- \
  espalier run --check -P Split:Mode=tree -P Input:InitCondFile=ic.txt -P Output:OutputDir=none run.ini
go long 1 -P Split:Mode=tree -P Steps:Scheme=block -P Time:MaxSizeTimestep=0.01 -n 1
has long/err 'warning: steps of 0.01 are given, but orbits in the external field need soft steps of at most'
ok $? "a run: given steps that are too long are named"

star 1 0 0 0 1 0
field 2 'Potential1 = point mass=1 centre=1,0,0'
go ontop 1
ends 1 'phase kick: 1 particle has values that are not finite: id 1 (in the external field)$'
ok $? "a star on top of a point mass is named"
# --- mistakes
printf '0 1 2 3\n1 1 2 3\n' > short.txt
printf '%s\n' '-1 1 2 3' '0 1 2 3' '1 1 2 3' > early.txt
star 1 0 0 0 1 0
while IFS='|' read -r line message; do
  field 2 "$line"
  rm -rf bad
  go bad 1
  ends 1 "$message" && [ "$(grep -c '^espalier' bad/err)" = 1 ] && [ ! -e bad/out ]
  ok $? "$line: one sentence, and nothing is written"
done << END_OF_TABLE
Potential1 = nwf mass=1 scale=1|run.ini:[0-9]*: Potential1 = nwf mass=1 scale=1: expected a .*did you mean 'nfw'
Potential3 = nfw mass=1|run.ini:[0-9]*: Potential3 = nfw mass=1: expected scale= for nfw
Potential1 = point mass=1 orbit=nowhere.txt|run.ini:[0-9]*: Potential1 = point mass=1 orbit=nowhere.txt: No such file
Potential1 = point mass=1 orbit=../run.ini|run.ini:1: .* is not a finite number; expected t x y z of an orbit
Potential1 = point mass=1 orbit=../short.txt|short.txt: expected at least 3 times of an orbit, found 2
Potential1 = point mass=1 orbit=../early.txt|the orbit is from -1 to 1, and the run from 0 to 2: expected a table
Potential1 = plummer mass=1 scale=1 centre=0,0,0 centre=1,0,0|expected centre= once, found it twice
Potential1 = plummer mass=1 scale=1 orbit=../early.txt orbit=../early.txt|expected orbit= once, found it twice
Potential1 = plummer mass=1 scale=1 orbit=../early.txt centre=0,0,0|expected centre= or orbit=, not both
Potential1 = plummer mass=1e200 scale=1|expected mass= with a number above 0, not above 1e100 and .*, found '1e200'
Potential1 = logarithmic velocity=1 q=1e-200|expected q= with .* and not within 1e-100 of 0, found '1e-200'
TidalField = omega=1 kappa=2.1|expected kappa= of at most 2 omega .*, found 2.1
TidalField = A=-0.1 B=-1|expected A= above B=, A= of at least 0, and B= of at most 0
TidalField = kappa=1|run.ini:[0-9]*: TidalField = kappa=1: expected omega=
Agama = type=Plummer|Agama: the library cannot be loaded
AgamaLibrary = lib.so|run.ini:[0-9]*: AgamaLibrary = lib.so and Agama = '' (default): expected Agama too
Agama = nowhere.ini|run.ini:[0-9]*: Agama = nowhere.ini: No such file
Potential9 = point mass=1|unknown parameter 'Potential9'
END_OF_TABLE
finish
