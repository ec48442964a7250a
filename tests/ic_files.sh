#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The options of `espalier ic` for star clusters on the command line, the units of scaled models, and the parameter
# files for them.
. "${srcdir:-.}/tests/harness.sh"
export OMP_NUM_THREADS=2
limit=100
espalier() { launch 0 "$@"; }
# refuses TEXT OPTION...: status 2 and this text
refuses() {
  words=$1
  shift
  says 2 "$words" -- espalier ic "$@" -n 10 -o x.hdf5 && [ ! -e x.hdf5 ]
  ok $? "$words"
}

refuses '--w0 belongs to model king, not to plummer' plummer --w0 5
refuses '--central-mass belongs to models plummer, hernquist, king, not to uniform' uniform --central-mass 0.1
refuses "--mass-function: expected equal, kroupa or two, found 'salpeter'" king --mass-function salpeter
refuses '--mass-max: has a meaning only with --mass-function kroupa' king --mass-function two --mass-max 5
refuses '--heavy-ratio: has a meaning only with --mass-function two' king --heavy-ratio 5
refuses '--binary-min: has a meaning only with --binaries' king --binary-min 1e-5
refuses '--eccentricity: has a meaning only with --binaries' king --eccentricity 0.5
refuses 'eccentricity: expected a number from 0 to 0.9999, found -1' king --binaries 0.5 --eccentricity -1
refuses "--binary-population: expected log-axis, duquennoy-mayor, raghavan, sana or kroupa, found 'heintz'" king \
  --binaries 0.5 --binary-population heintz
refuses '--binary-population: has a meaning only with --binaries' king --binary-population sana
refuses '--binary-max: has a meaning only with --binary-population log-axis' king --binaries 0.5 --virial-radius 1 \
  --binary-population sana --binary-max 0.01
refuses "binary-population: periods of 'sana' are in days: give the size of the model in pc" king --binaries 0.5 \
  --binary-population sana
says 1 'binary-population: expected a virial radius from 0.002 to 100 pc, found 0.001' -- espalier ic plummer -n 10 \
  --virial-radius 0.001 --binaries 0.5 --binary-population sana -o x.hdf5 && [ ! -e x.hdf5 ]
ok $? 'a model in which binaries are wider than it'
refuses "--binaries: expected a number from 0 to 1, or observed, found 'seen'" king --binaries seen
refuses '--binaries: expected a number from 0 to 1, or observed, found -1' king --binaries -1
refuses 'binaries: observed fractions are by the mass of a star in solar masses: expected --mass-function kroupa' king \
  --binaries observed --virial-radius 1
refuses '--triples: has a meaning only with --binaries' king --triples 0.2
refuses "--triples: expected a number, found 'some'" king --binaries 0.5 --triples some
refuses 'fraction of triples: expected a number from 0 to 1, found 2' king --binaries 0.5 --triples 2
says 1 'triples: among 100000 orbits of a triple none is stable; it takes a larger ratio of --binary-max to' -- \
  espalier ic plummer -n 10 --binaries 1 --triples 1 --binary-max 1e-4 -o x.hdf5 && [ ! -e x.hdf5 ]
ok $? 'orbits of one axis'
refuses 'virial ratio: expected a number from 0 to 1.9, found 2' king --virial-ratio 2
refuses '--virial-ratio: expected a number from 0 to 1.9, found -1' plummer --virial-ratio -1
says 2 'virial ratio: of plummer, hernquist and king it is a sum over all pairs: expected at most 262144 particles' -- \
  espalier ic plummer --virial-ratio 1 -n 262145 -o x.hdf5
ok $? 'too many particles for a virial ratio'
refuses 'W0: expected a number from 0.3 to 12, found 0.1' king --w0 0.1
refuses "option --w0: expected a number, found 'six'" king --w0 six
refuses '--total-mass: has a meaning only with --virial-radius or --half-mass-radius' king --total-mass 5
refuses '--virial-radius and --half-mass-radius: give one of them' king --virial-radius 1 --half-mass-radius 1
refuses 'option --virial-radius: expected a number from 1e-12 to 1e18, found 0' king --virial-radius 0
refuses '--total-mass: the mass function kroupa gives the mass itself' king --mass-function kroupa --virial-radius 1 \
  --total-mass 5

# every option of the tables is in the help
try espalier ic --help
sed -n 's/^    {"\([a-z0-9-]*\)", .*offsetof.*/\1/p' "$src/src/ic/options.c" > names
while read -r name; do has said "--$name " || echo "no --$name" >> err; done < names
[ ! -s err ] && [ "$(wc -l < names)" = 21 ]
ok $? "the help has every option of the tables"

says 0 '7 binaries: particles 1 to 14, in pairs' '20 triples: particles 15 to 74, in threes, the inner pair first' -- \
  espalier ic plummer -n 120 --binaries 0.37 --triples 0.75 -o triples.hdf5
ok $? "numbers of binaries and triples"

# value KEY of the printed units is EXPECTED within 1e-4
value() {
  awk -v key="$1" -v x="$2" '$1 == key { found = 1; d = $3 / x - 1; good = d * d < 1e-8 }
    END { exit !(found && good) }' said
}
says 0 '20 binaries: particles 1 to 40, in pairs' \
  'length 2 pc, mass 5000 Msun, velocity 3.279.* km/s, time 0.596.* Myr' -- \
  espalier ic plummer -n 100 --virial-radius 2 --total-mass 5000 --binaries 0.25 --units henon -o scaled.hdf5 &&
  value UnitLength_in_cm 6.171355e18 && value UnitMass_in_g 9.94205e36 && value UnitVelocity_in_cm_per_s 327907.7
ok $? "units of a scaled model"
try espalier ic plummer -n 100 --half-mass-radius 1.53694 --units henon --overwrite -o scaled.hdf5 &&
  value UnitLength_in_cm 6.171355e18 && value UnitMass_in_g 1.98841e35
ok $? "half-mass radius, a solar mass per particle"

# The units that are printed are those that the file states: the run accepts them, and refuses others.
{ printf '[Input]\nInitCondFile = scaled.hdf5\n[Time]\nTimeMax = 0.1\n[Gravity]\nSoftening = 0.03\n'
  sed -n '/^\[Units\]/,$p' said; } > scaled.ini
check "a run in these units" \
  says 0 'length 2 pc, mass 100 Msun' 'stated by the file, as in the parameters' \
  -- espalier run --check scaled.ini
check "other units are refused" \
  says 1 'states UnitMass_in_g = 1.98841e+35' \
  -- espalier run --check -P Units:UnitMass_in_g=1e35 -P Units:GravityConstantInternal=1 scaled.ini

# The same stars in pc, solar masses and pc/Myr: the same numbers times the units, and a run that has the same forces.
check "--units is for scaled models" says 2 'has a meaning only with --virial-radius' -- \
  espalier ic plummer -n 10 --units pc-myr -o x.hdf5
check "--units of another name" says 2 'option --units: expected henon or pc-myr, found .kpc' -- \
  espalier ic plummer -n 10 --virial-radius 1 --units kpc -o x.hdf5
set -- king -n 200 --virial-radius 2 --mass-function kroupa
try espalier ic "$@" --units henon -o henon.hdf5 && espalier ic "$@" -o parsec.hdf5 > said 2> err &&
  value UnitLength_in_cm 3.0856776e18 && value UnitMass_in_g 1.98841e33 && value UnitVelocity_in_cm_per_s 97779.22 &&
  lacks said GravityConstantInternal
ok $? "pc, solar masses, pc/Myr"
if with_python "h5py"; then
  "$python" - > said 2> err << 'END'
import h5py
import numpy as np
with h5py.File("henon.hdf5") as a, h5py.File("parsec.hdf5") as b:
    units = {"Coordinates": "Length_in_cm", "Velocities": "Velocity_in_cm_per_s", "Masses": "Mass_in_g"}
    for name, unit in units.items():
        x, y = (file["PartType1"][name][:] * file["Units"].attrs["Unit" + unit] for file in (a, b))
        assert np.allclose(x, y, rtol=2e-7, atol=1e-12 * abs(x).max()), name
    assert abs(b["Parameters"].attrs["GravityConstantUsed"] / 0.0044985 - 1) < 1e-6
    assert (a["PartType1/ParticleIDs"][:] == b["PartType1/ParticleIDs"][:]).all()
END
  ok $? "... of the same stars"
fi
{ printf '[Input]\nInitCondFile = parsec.hdf5\n[Time]\nTimeMax = 0.1\n[Gravity]\nSoftening = 0.03\n'
  espalier ic "$@" --overwrite -o parsec.hdf5 | sed -n '/^\[Units\]/,$p'; } > parsec.ini
check "... in a run with the units that are printed" \
  says 0 'G = 0.00449850.* (from the units)' 'time 1 Myr' -- espalier run --check parsec.ini

# The files in params/, by the commands in their heads.
# first_steps NAME STEPS WORDS: the initial conditions, their units beside those of the file, and a run
first_steps() {
  command=$(awk '/^; *espalier ic / { on = 1 } on { sub(/^; *(espalier )?/, ""); print } on && / -o / { exit }' \
    "$src/params/$1.ini")
  try espalier $command && says 0 "$3" -- espalier run --check "$src/params/$1.ini" &&
    says 0 '^done' -- espalier run -n "$2" "$src/params/$1.ini" && [ -e "$1/snapshot_000.hdf5" ]
  ok $? "params/$1.ini: its initial conditions, its units, and $2 soft steps"
}
first_steps cluster 2 'of the file, since the parameters state none'
first_steps nucleus 2 'the file is dimensionless'
first_steps encounters 2 'the file is dimensionless'
first_steps binaries 1 'of the file, since the parameters state none'
[ -s binaries/binaries.csv ]
ok $? "... with a table of binaries"
finish
