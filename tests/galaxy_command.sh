#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `espalier ic galaxy`: models that are refused, with one sentence and nothing written; what is printed and written; the
# files in params/models.
. "${srcdir:-.}/tests/harness.sh"
export OMP_NUM_THREADS=2
limit=100
with_python 'h5py, numpy'
galaxy() { launch 0 ic galaxy "$@"; }

# A model file from lines: model LINE...; sections that every model has come first
units='[Units]|GravityConstantInternal = 1'
plummer='[a]|Profile = plummer|Mass = 1|Scale = 1|N = 100'
model() { printf '%s\n' "$@" | tr '|' '\n' > m.ini; }
cases=0
# refused TEXT [OPTION...]: with one message that has the text, status 1, and no file written. Cases run a few at a
# time, because starting MPI is mostly waiting; each has a folder of its own, with the files of this one, and
# 'check_all' looks at what came out.
refused() {
  cases=$((cases + 1))
  mkdir "case$cases"
  echo "$1" > "case$cases/text"
  shift
  for file in m.ini one.ini t.txt there.csv; do [ ! -e "$file" ] || cp -r "$file" "case$cases"; done
  (cd "case$cases" && mkdir tmp &&
    TMPDIR=$PWD/tmp galaxy m.ini -o x.hdf5 --profile x.csv "$@" > out 2> err; echo $? > status) &
  [ $((cases % 6)) -ne 0 ] || wait
}
check_all() {
  wait
  for i in $(seq $cases); do
    at=case$i text=$(cat "case$i/text") shown="case$i/out case$i/err"
    [ "$(cat "$at/status")" = 1 ] && has "$at/err" "$text" && [ "$(grep -c '^espalier:' "$at/err")" = 1 ] &&
      [ ! -e "$at/x.hdf5" ] &&
      [ ! -e "$at/x.csv" ] && [ ! -e "$at/x_df.csv" ]
    ok $? "$text"
  done
}
# bad TEXT LINE...: a component that is refused
bad() {
  text=$1
  shift
  model "$units" "$@"
  refused "$text"
}

rm -f m.ini
refused 'm.ini: expected a model file: No such file'
model ''
refused 'm.ini: the units are missing: expected in \[Units\] System = galaxy or cluster, or UnitLength_in_cm'
model '[Units]|UnitLength_in_cm = 1' "$plummer"
refused 'm.ini: some units are missing'
model '[Units]|UnitLength_in_cm = 1|UnitMass_in_g = zero' "$plummer"
refused "m.ini:3: UnitMass_in_g: expected a number above 0"
model "$units"
refused 'expected components, each a section with a Profile'
bad 'm.ini:8: \[a\] is given twice; the first is in line 3' "$plummer" '[a]|Profile = nfw'
bad 'm.ini:8: \[Units\] is given twice; the first is in line 1' "$plummer" '[Units]'
bad 'm.ini:8: unknown section \[model\]; did you mean \[Model\]?' "$plummer" '[model]|N = 5'
bad "m.ini:3: expected \[Section\] and nothing else, found '\[a\] x'" '[a] x'
bad 'expected a name of 1 to 31 characters' '[a-name-that-is-much-too-long-for-a-component]'
bad "a component's name must not have any of" '[a,b]'
bad 'this name is for the sum' '[Total]'
bad "m.ini:8: expected 'Key = value', found 'Softening'" "$plummer" 'Softening'
model 'Mass = 1' "$units"
refused "m.ini:1: 'Mass' stands before any \[Section\]"
bad "m.ini:8: unknown key 'Scael' in \[a\]; did you mean 'Scale'?" "$plummer" 'Scael = 1'
bad "m.ini:8: unknown key 'UnitMass_in_g' in \[a\]; it belongs in \[Units\]" "$plummer" 'UnitMass_in_g = 1'
bad "unknown key 'Number' in \[Model\]" "$plummer" '[Model]|Number = 1'
bad 'm.ini:8: Mass is given twice; the first is in line 5' "$plummer" 'Mass = 1'
bad "Profile: unknown name 'plumer'; did you mean 'plummer'?" '[a]|Profile = plumer'
bad 'Profile: expected plummer, hernquist, .* or sersic-disc, found .xyzzy' '[a]|Profile = xyzzy'
bad 'm.ini:3: \[a\] Profile is missing' '[a]|Mass = 1'
bad 'm.ini:3: \[a\] Mass is missing; the profile plummer needs it' '[a]|Profile = plummer|Scale = 1|N = 10'
bad 'Cutoff is missing; the profile nfw needs it, since its mass is infinite' \
  '[a]|Profile = nfw|Mass = 1|Scale = 1|N = 10'
bad 'W0: the profile plummer has no such key' "$plummer" 'W0 = 6'
bad 'Scale: the profile black-hole has no such key' "$plummer" '[b]|Profile = black-hole|Mass = 1|Scale = 1'
bad "Mass: expected a number above 0, found '-1'" '[a]|Profile = plummer|Mass = -1'
bad "Mass: expected a number above 0, found 'nan'" '[a]|Profile = plummer|Mass = nan'
bad 'm.ini:5: Mass = 1 kg: expected a number without a unit: the run is dimensionless, with G = 1' \
  '[a]|Profile = plummer|Mass = 1 kg'
bad "m.ini:5: Scale: expected a length, for example 50 pc, found '1 kg': that is a mass" \
  '[a]|Profile = plummer|Scale = 1 kg'
bad "m.ini:5: W0: expected a number without a unit, found '6 pc'" '[a]|Profile = king|W0 = 6 pc'
model '[Units]|System = galaxy' '[a]|Profile = plummer|Mass = 1e10 Msun|Scale = -3 pc'
refused "m.ini:6: Scale: expected a number above 0, found '-3 pc'"
model '[Units]|System = milky'
refused "m.ini:2: System: expected one of given, galaxy, .*, found 'milky'"
model '[Units]|UnitLength_in_cm = 1e300|UnitMass_in_g = 1e40|UnitVelocity_in_cm_per_s = 1e5' "$plummer"
refused 'm.ini:2: UnitLength_in_cm = 1e+300, .*expected lengths, masses, velocities and times from 1e-100'
bad "W0: expected a number from 0.3 to 12, found '20'" '[a]|Profile = king|W0 = 20'
bad "SersicIndex: expected a number from 0.6 to 10, found '0.5'" '[a]|Profile = sersic|SersicIndex = 0.5'
bad "Type: expected a particle type, a whole number from 0 to 5, found '1.5'" "$plummer" 'Type = 1.5'
bad "N: expected a whole number of particles from 1 to 2^36, found '0'" '[a]|N = 0'
bad "N: expected a whole number of particles from 1 to 2^36, found '1e12'" '[a]|N = 1e12'
bad 'ParticleMass: give it or N, not both' "$plummer" 'ParticleMass = 0.1'
bad 'Mass / ParticleMass is 1e-09' '[a]|Profile = plummer|Mass = 1|Scale = 1|ParticleMass = 1e9'
bad '\[a\] has no number of particles' '[a]|Profile = plummer|Mass = 1|Scale = 1'
bad 'leave none for \[b\]' '[Model]|N = 10' '[a]|Profile = plummer|Mass = 1|Scale = 1' \
  '[b]|Profile = plummer|Mass = 0.01|Scale = 1'
bad 'the components have 100 particles' "$plummer" '[Model]|N = 50'
bad 'CutoffWidth has a meaning only with Cutoff' "$plummer" 'CutoffWidth = 5'
bad 'CutoffWidth: expected from 0.02 to 10 times Cutoff = 5, found 0.01' "$plummer" 'Cutoff = 5|CutoffWidth = 0.01'
bad 'Cutoff: expected at least a tenth of Scale' "$plummer" 'Cutoff = 0.01'
bad "OuterSlope: expected a number above 2 and at most 20, found '1'" '[a]|Profile = double-power|OuterSlope = 1'
bad 'Cutoff is missing: with OuterSlope = 3' '[a]|Profile = double-power|Mass = 1|Scale = 1|OuterSlope = 3|N = 9'
bad '2 components are black-hole' "$plummer" '[b]|Profile = black-hole|Mass = 1' '[c]|Profile = black-hole|Mass = 1'
bad 'a black hole alone is no model' '[b]|Profile = black-hole|Mass = 1'
bad 'is more than 1e9 times the smallest Scale' "$plummer" '[b]|Profile = plummer|Mass = 1|Scale = 1e10|N = 5'
bad '\[a\]: this component cannot be in equilibrium: .* AnisotropyRadius' "$plummer" 'AnisotropyRadius = 0.2'
bad '\[a\]: this component cannot be in equilibrium: .* a lighter black hole' "$plummer" \
  '[b]|Profile = black-hole|Mass = 10'
table='[a]|Profile = table|Mass = 1|N = 10|Table = t.txt'
bad 't.txt: No such file' "$table"
rm -f t.txt
printf '1 2\n2 1 5\n' > t.txt
bad 't.txt:2: expected a radius and a density, both above 0' "$table"
printf '1 2\n1 1\n' > t.txt
bad 't.txt:2: radii must increase' "$table"
printf '1 2\n2 3\n' > t.txt
bad 't.txt:2: densities must not increase' "$table"
printf '1 2\n2 1\n' > t.txt
bad 't.txt: expected at least 5 rows of radius and density, found 2' "$table"
printf '1 1e5\n2 1e3\n3 1e2\n4 1e1\n5 1\n' > t.txt
bad 'the density rises as' "$table"
printf '1e-200 5\n2e-100 4\n3 3\n4e100 2\n5e200 1\n' > t.txt
bad 't.txt: the radii are from 1e-200 to 5e+200; expected from 1e-30 to 1e30' "$table"
printf '1 5\n2 4\n3 3\n4 2\n5 1\n' > t.txt
bad '\[a\]: this component cannot be in equilibrium: its density does not fall to 0 smoothly .*within the last row' \
  "$table"
printf '1 2\nx' > t.txt
bad "found 'x'$" "$table"
# numbers that files and tables cannot hold
bad '\[a\] Scale: expected a length from 1e-30 to 1e+30, found 1e+200' \
  '[a]|Profile = plummer|Mass = 1|Scale = 1e200|N = 9'
bad '\[a\] Scale: expected a length from 1e-30 to 1e+30, found 1e-200' \
  '[a]|Profile = plummer|Mass = 1|Scale = 1e-200|N = 9'
bad 'AnisotropyRadius: expected a length from 1e-30' "$plummer" 'AnisotropyRadius = 1e99'
bad '\[a\]: (G Mass / Scale)^(1/2) is 1e+100' '[a]|Profile = plummer|Mass = 1e200|Scale = 1|N = 9'
bad '\[a\]: the mass of a particle would be 1e+43; expected from' '[a]|Profile = plummer|Mass = 1e44|Scale = 1|N = 10'
bad '\[b\]: the mass of a particle would be 1e-50; expected from' "$plummer" '[b]|Profile = black-hole|Mass = 1e-50'
bad 'cannot be resolved beyond .*: expected a lighter black hole' '[a]|Profile = hernquist|Mass = 1|Scale = 1|N = 9' \
  '[b]|Profile = hernquist|Mass = 1e-9|Scale = 1e-8|N = 9' '[c]|Profile = black-hole|Mass = 0.01'
head -c 300 /dev/zero > m.ini
refused 'm.ini.*: this is text in UTF-16\|a NUL byte'
rm m.ini && mkdir m.ini
refused 'm.ini is not a regular file'
rmdir m.ini

# orbits
printf '%s\n' "$units" "$plummer" | tr '|' '\n' > one.ini
orbit='[Orbit]|First = one.ini|Second = one.ini'
bad '\[Orbit\] Second is missing' '[Orbit]|First = one.ini|Pericentre = 1|Separation = 5'
bad '\[Orbit\] Pericentre is missing' "$orbit" 'Separation = 5'
bad "unknown key 'Peri' in \[Orbit\]" "$orbit" 'Peri = 5'
bad "Pericentre: expected a number above 0 and at most 1e+30, found '0'" "$orbit" 'Pericentre = 0|Separation = 5'
bad 'Separation: expected at least Pericentre = 5, found 1' "$orbit" 'Pericentre = 5|Separation = 1'
bad 'Separation: expected at most the apocentre 3 of this orbit, found 9' "$orbit" \
  'Pericentre = 1|Separation = 9|Eccentricity = 0.5'
bad 'a file with \[Orbit\] has no components of its own' "$orbit" 'Pericentre = 1|Separation = 9' "$plummer"
bad 'does a file name itself?' '[Orbit]|First = m.ini|Second = one.ini|Pericentre = 1|Separation = 9'
bad 'absent.ini: expected a model file: No such file' \
  '[Orbit]|First = absent.ini|Second = one.ini|Pericentre = 1|Separation = 9'
model '[Units]|GravityConstantInternal = 2' "$orbit" 'Pericentre = 1|Separation = 9'
refused 'one.ini: \[Units\] differ from those of the file that names it'

model "$units" "$plummer"
refused 'm.ini: this is the model file' -o m.ini --overwrite
refused 'm.ini: this is the model file' --profile m.ini --overwrite
refused 'x.csv: options -o and --profile name the same file' -o x.csv
echo precious > there.csv
refused 'there.csv: already exists' --profile there.csv
check_all
kept=0
for i in $(seq $cases); do   # in the cases above that name it
  if has "case$i/err" 'this is the model file'; then cmp -s m.ini "case$i/m.ini" || kept=1; fi
done
ok $kept "the model file is kept"
for n in 300 200; do
  printf '%s\n' "$units" "[Model]|N = $n" '[s]|Profile = plummer|Mass = 1|Scale = 0.5|Cutoff = 5' |
    tr '|' '\n' > n$n.ini
done
model "$units" '[Orbit]|First = n300.ini|Second = n200.ini' 'Pericentre = 1|Separation = 12'
check "two files with numbers of their own" says 0 '1\.s .* 300 ' '2\.s .* 200 ' -- galaxy --check m.ini
[ "$(cat "case$cases/there.csv")" = precious ]
ok $? "an existing file is kept"

# the command line
check "no -o" says 2 'option -o is missing' -- galaxy m.ini
check "--check with -o" says 2 '--check writes no particles' -- galaxy --check -o x.hdf5 m.ini
check "no model file" says 2 'model file is missing' -- galaxy -o x.hdf5
check "--help" says 0 '^usage: espalier ic galaxy MODEL.ini' -- galaxy --help
model "$units" "$plummer"
rows_of() { [ "$(count "$1" "^$2,")" -gt 50 ]; }   # FILE COMPONENT
says 0 '^a  *plummer  *1  *100 ' -- galaxy --check --profile p.csv m.ini && [ ! -e x.hdf5 ] &&
  has p.csv '^component,r,density,mass,circular_velocity,sigma_r$' && has p_df.csv '^component,energy,f$' &&
  rows_of p.csv a && rows_of p.csv total && rows_of p_df.csv a
ok $? "--check --profile: a table, profiles, no particles"
rm p.csv
says 1 'p_df.csv: already exists' -- galaxy --check --profile p.csv m.ini && [ ! -e p.csv ]
ok $? "an existing table of f"
check "option -n" says 0 'x.hdf5: 1000 particles of m.ini, seed 1; without units, G = 1; a run takes them' \
  -- galaxy -n 1e3 -o x.hdf5 m.ini
model "$units" "$orbit" 'Pericentre = 1|Separation = 9|Inclination2 = 60'
parameters run.ini Input:InitCondFile=pair.hdf5 Time:TimeMax=1 Gravity:Softening=0.1
says 0 '^2.a  *plummer  *1  *100 .* 101$' -- galaxy -o pair.hdf5 m.ini && try espalier run --check run.ini
ok $? "two galaxies on an orbit, a run takes them"

# units by name and in values, also before [Units]: the same model as in plain numbers
disc='Profile = exponential-disc|N = 200|ToomreQ = 1.5'
model '[Orbit]|First = two.ini|Second = two.ini|Pericentre = 8000 pc|Separation = 0.1 Mpc' '[Units]|System = galaxy'
cat > given.ini m.ini
model '[Orbit]|First = two.ini|Second = two.ini|Pericentre = 8|Separation = 100' '[Units]|System = galaxy'
cat > plain.ini m.ini
model '[dark bulge]|Profile = hernquist|Mass = 8e11 Msun|Scale = 7600 pc|Cutoff = 0.2 Mpc|ParticleMass = 4e9 Msun' \
  '[Units]|System = galaxy' "[d]|$disc|Mass = 3.5e10 Msun|Scale = 2500 pc|Height = 4e-4 Mpc"
cat > two.ini m.ini
check "values with units" says 0 '1.dark bulge 3, 1.d 2, 2.dark bulge 3, 2.d 2$' 'units .* 1 kpc, 1e.10 Msun' \
  -- galaxy -o given.hdf5 given.ini
model '[dark bulge]|Profile = hernquist|Mass = 80|Scale = 7.6|Cutoff = 200|N = 200|Type = 3' \
  '[Units]|System = galaxy' "[d]|$disc|Mass = 3.5|Scale = 2.5|Height = 0.4|Type = 2"
cat > two.ini m.ini
says 0 'plain.hdf5: 800 particles' -- galaxy -o plain.hdf5 plain.ini && ! has out 'particle types by profile'
ok $? "types that are given are not said again"
check "... are those of plain numbers" judge same given.hdf5 plain.hdf5

# the files in params/models, by the command in their heads, with few particles
for file in "$src"/params/models/*.ini; do
  command=$(sed -n 's/^; *espalier ic galaxy /ic galaxy /p' "$file" | sed "s|params/models|$src/params/models|g")
  check "params/models/${file##*/}" says 0 ': 2000 particles of' -- launch 0 $command -n 2000
done
finish
