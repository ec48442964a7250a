#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier-plot model: a galaxy with two discs, a merger and a model without discs, whose particles are where the lines
# are; bad input.
. "${srcdir:-.}/tests/harness.sh"
with_plots
espalier ic galaxy --help 2> /dev/null | grep -q -e --profile || skip_all "this espalier has no 'ic galaxy'"

# component NAME LINE...: a section of the model file
component() {
  echo "[$1]"
  shift
  printf '%s\n' "$@"
}
{
  component Units 'GravityConstantInternal = 1'
  component halo 'Profile = hernquist' 'Mass = 10' 'Scale = 6' 'Cutoff = 60' 'N = 12000' 'Type = 1'
  component bulge 'Profile = hernquist' 'Mass = 0.4' 'Scale = 0.15' 'N = 4000' 'Type = 3'
  component hole 'Profile = black-hole' 'Mass = 0.02' 'Type = 5'
  component thin 'Profile = exponential-disc' 'Mass = 1' 'Scale = 1' 'Height = 0.08' 'ToomreQ = 1.3' 'N = 10000' \
    'Type = 2'
  component thick 'Profile = exponential-disc' 'Mass = 0.2' 'Scale = 1.2' 'Height = 0.3' 'Dispersion = 0.6' \
    'Retrograde = 0.1' 'N = 6000' 'Type = 2'
} > galaxy.ini
{
  component Units 'GravityConstantInternal = 1'
  component Orbit 'First = galaxy.ini' 'Second = galaxy.ini' 'Pericentre = 2' 'Separation = 40' 'Inclination2 = 50' \
    'Node2 = 20'
} > merger.ini
{
  component Units 'GravityConstantInternal = 1'
  component halo 'Profile = hernquist' 'Mass = 1' 'Scale = 1' 'N = 8000' 'Type = 1'
} > sphere.ini
for model in galaxy merger sphere; do
  try espalier ic galaxy --profile "$model.csv" -o "$model.hdf5" "$model.ini"
  ok $? "particles and tables of $model"
done
[ "$(grep -c '^thin,' galaxy_discs.csv)" = 120 ] && [ "$(grep -c '^2.galaxy.thick,' merger_discs.csv)" = 120 ]
ok $? "the tables of discs have rows for each disc"

# near LEAST MOST: as many comparisons as expected, and no median is further from its line than MOST per cent
near() {
  awk -v least="$1" -v most="$2" '
    /median of the points/ { n++; d = $0; sub(/.*points /, "", d); d += 0; if (d > most || d < -most) { print "# " $0;
      bad = 1 } }
    END { if (n < least) print "# " n + 0 " comparisons"; exit bad || n < least }' said
}
draws "lines and particles of a galaxy" model galaxy.csv galaxy.hdf5
check "its particles are where the lines are" near 15 7
has said '^axes 6$' && has said "^text Toomre's Q" && has said '^thin: smallest Q 1.3$'
ok $? "six panels, and the smallest Q"
draws "the second galaxy of a merger, tilted and moving" model merger.csv merger.hdf5 --galaxy 2 --bins 15
check "its particles too, in its own frame" near 15 9
draws "lines alone" model galaxy.csv
lacks said 'median of the points' && lacks said '^text particles'
ok $? "no points, and no legend of them"
# M31's unit of velocity is 9.78 km/s: numbers and labels are in km/s, of tables without units by the snapshot
sed 's/^N *=.*/N = 6000/' "$src/params/models/m31.ini" > m31.ini
try espalier ic galaxy --profile m31.csv -o m31.hdf5 m31.ini
for file in m31.csv m31_df.csv m31_discs.csv; do sed '/^# Unit/d' $file > "bare${file#m31}"; done
for given in "m31.csv m31.hdf5" "bare.csv m31.hdf5" m31.csv "m31.csv --units galaxy"; do
  draws "a model in kpc and km/s: $given" model $given
  has said '^text velocity \[km/s\]$' && has said '^text binding energy \[(km/s)\$^2\$\]$' &&
    has said '^text radius \[kpc\]$' && { [ "${given#*hdf5}" = "$given" ] || near 1 25; }
  ok $? "... its labels, and points on the lines"
done
draws "in pc" model m31.csv m31.hdf5 --units cluster
has said '^text radius \[pc\]$' && near 1 25
ok $? "... the same of --units"
refuses_plot 'states no units' model bare.csv --units galaxy
draws "a sphere" model sphere.csv sphere.hdf5
near 3 5 && has said '^axes 4$'
ok $? "four panels, and particles where the lines are"
cat > wide.py << 'END'
import sys
sys.path.insert(0, sys.argv[1])
import plot_model as model
((total, parts),), units = model.read_lines("sphere.csv")
for draw in model.densities, model.speeds, model.dispersions:
    axis = model.plt.subplots()[1]
    draw(axis, *((parts,) if draw is model.dispersions else (total, parts)), units, 30)
    assert 38 < axis.get_xlim()[1] < 60, axis.get_xlim()   # 95 % of the mass is within 39
END
check "radii end where the mass does" script wide.py "$src/tools"

# refuses FRAGMENT ARGUMENT...: one sentence, exit status 1, no picture
refuses() {
  fragment=$1
  shift
  rm -f plot.png
  plots model "$@" -o plot.png
  [ $? = 1 ] && [ "$(wc -l < err)" = 1 ] && has err "^espalier-plot model: .*$fragment" && [ ! -e plot.png ]
  ok $? "refused: $fragment"
}
refuses 'absent.csv cannot be read' absent.csv
refuses 'is it of another model' galaxy.csv sphere.hdf5
refuses '--galaxy: expected 1 to 2, found 3' merger.csv --galaxy 3
sed 's/^total,/whole,/' sphere.csv > other.csv
refuses "it has no component 'total'" other.csv
sed 's/^thin,/thinner,/' galaxy_discs.csv > sphere_discs.csv
refuses "component 'thinner' is not in" sphere.csv
finish
