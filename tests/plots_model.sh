#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier-plot model: a galaxy with two discs, a merger and a model without discs, whose particles are where the lines are; bad input.
. "${srcdir:-.}/tests/tap.sh"
with_plots
if ! ./espalier ic galaxy --help 2> /dev/null | grep -q -e --profile; then
  echo "1..0 # SKIP this espalier has no 'ic galaxy'"
  exit 0
fi
shown="$dir/out $dir/err"

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
  component thin 'Profile = exponential-disc' 'Mass = 1' 'Scale = 1' 'Height = 0.08' 'ToomreQ = 1.3' 'N = 10000' 'Type = 2'
  component thick 'Profile = exponential-disc' 'Mass = 0.2' 'Scale = 1.2' 'Height = 0.3' 'Dispersion = 0.6' \
    'Retrograde = 0.1' 'N = 6000' 'Type = 2'
} > "$dir/galaxy.ini"
{
  component Units 'GravityConstantInternal = 1'
  component Orbit 'First = galaxy.ini' 'Second = galaxy.ini' 'Pericentre = 2' 'Separation = 40' 'Inclination2 = 50' 'Node2 = 20'
} > "$dir/merger.ini"
{
  component Units 'GravityConstantInternal = 1'
  component halo 'Profile = hernquist' 'Mass = 1' 'Scale = 1' 'N = 8000' 'Type = 1'
} > "$dir/sphere.ini"
for model in galaxy merger sphere; do
  ./espalier ic galaxy --profile "$dir/$model.csv" -o "$dir/$model.hdf5" "$dir/$model.ini" > "$dir/out" 2> "$dir/err"
  ok $? "particles and tables of $model"
done
[ "$(grep -c '^thin,' "$dir/galaxy_discs.csv")" = 120 ] && [ "$(grep -c '^2.galaxy.thick,' "$dir/merger_discs.csv")" = 120 ]
ok $? "the tables of discs have rows for each disc"

# draws TITLE ARGUMENT...: a picture in which nothing lies over anything else; the terminal goes to $dir/out
draws() {
  title=$1
  shift
  rm -f "$dir/plot.png"
  "$python" "$src/tests/plots_layout.py" "$src/tools" model "$@" -o "$dir/plot.png" > "$dir/out" 2> "$dir/err"
  status=$?
  [ $status = 0 ] && [ ! -s "$dir/err" ] && head -c 4 "$dir/plot.png" | grep -q PNG
  ok $? "$title: status $status"
}
# near LEAST MOST: as many comparisons as expected, and no median is further from its line than MOST per cent
near() {
  awk -v least="$1" -v most="$2" '
    /median of the points/ { n++; d = $0; sub(/.*points /, "", d); d += 0; if (d > most || d < -most) { print "# " $0; bad = 1 } }
    END { if (n < least) print "# " n + 0 " comparisons"; exit bad || n < least }' "$dir/out"
}
draws "lines and particles of a galaxy" "$dir/galaxy.csv" "$dir/galaxy.hdf5"
near 15 7
ok $? "its particles are where the lines are"
grep -q '^axes 6$' "$dir/out" && grep -q "^text Toomre's Q" "$dir/out" && grep -q '^thin: smallest Q 1.3$' "$dir/out"
ok $? "six panels, and the smallest Q"
draws "the second galaxy of a merger, tilted and moving" "$dir/merger.csv" "$dir/merger.hdf5" --galaxy 2 --bins 15
near 15 9
ok $? "its particles too, in its own frame"
draws "lines alone" "$dir/galaxy.csv"
! grep -q 'median of the points' "$dir/out" && ! grep -q '^text particles' "$dir/out"
ok $? "no points, and no legend of them"
draws "a sphere" "$dir/sphere.csv" "$dir/sphere.hdf5"
near 3 5 && grep -q '^axes 4$' "$dir/out"
ok $? "four panels, and particles where the lines are"

# refuses FRAGMENT ARGUMENT...: one sentence, exit status 1, no picture
refuses() {
  fragment=$1
  shift
  rm -f "$dir/plot.png"
  "$plot" model "$@" -o "$dir/plot.png" > "$dir/out" 2> "$dir/err"
  [ $? = 1 ] && [ "$(wc -l < "$dir/err")" = 1 ] && grep -q "^espalier-plot model: .*$fragment" "$dir/err" && [ ! -e "$dir/plot.png" ]
  ok $? "refused: $fragment"
}
refuses 'absent.csv cannot be read' "$dir/absent.csv"
refuses 'is it of another model' "$dir/galaxy.csv" "$dir/sphere.hdf5"
refuses '--galaxy: expected 1 to 2, found 3' "$dir/merger.csv" --galaxy 3
sed 's/^total,/whole,/' "$dir/sphere.csv" > "$dir/other.csv"
refuses "it has no component 'total'" "$dir/other.csv"
sed 's/^thin,/thinner,/' "$dir/galaxy_discs.csv" > "$dir/sphere_discs.csv"
refuses "component 'thinner' is not in" "$dir/sphere.csv"
echo "1..$number"
exit $failed
