#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The plots of real runs on three ranks and one: pictures in which nothing lies over anything else, the numbers of the
# comparison, and a sentence for bad input.
. "${srcdir:-.}/tests/harness.sh"
with_plots
# no display is needed, whatever the environment says
export MPLBACKEND=TkAgg DISPLAY=:99

parameters run.ini Input:InitCondFile=plummer.hdf5 Time:TimeMax=0.09375 Gravity:Softening=0.03 Split:SoftStep=0.03125 \
  $hybrid
# run RANKS FOLDER -P ...
run() {
  n=$1 folder=$2
  shift 2
  try launch "$n" run -P "Output:OutputDir=$folder" "$@" run.ini
}
model plummer -n 600 -o plummer.hdf5
  run 3 hybrid -P Output:CommLog=peers && run 3 tree -P Split:Mode=tree -P Output:SubstepLog=on &&
    run 3 off -P Output:CommLog=off && run 1 one
ok $? "runs on three ranks and one"
cp said one.log

# through links, as after an installation
mkdir links
ln -s "$plot" links/first && ln -s first links/second
check "espalier-plot called through links" try links/second energy --help
if [ -r "$here/Makefile" ]; then
  # installed WORDS: by make, with these words
  installed() { try "${MAKE:-make}" -C "$here" -s prefix=/usr datarootdir=/usr/share install-exec-local "$@"; }
  installed DESTDIR="$dir/root" bindir=/usr/bin install-nobase_dist_pkgdataSCRIPTS install-nobase_dist_pkgdataDATA &&
    mv root moved && try moved/usr/bin/espalier-plot energy --help
  ok $? "an installation has it in PATH, wherever it is moved to"
  check "compare-schemes too" says 1 'compare-schemes ESPALIER FILE.hdf5 SOFTENING' -- moved/usr/bin/compare-schemes
  check "espalier-xdmf too" says 0 '^usage: espalier-xdmf ' -- moved/usr/bin/espalier-xdmf --help
  check "espalier-convert too" says 0 '^usage: espalier-convert ' -- moved/usr/bin/espalier-convert --help
  installed DESTDIR="$dir/apart" bindir=/opt/bin &&
    [ "$(readlink apart/opt/bin/espalier-plot)" = /usr/share/espalier/tools/espalier-plot ]
  ok $? "with nothing in common the link names the whole path"
fi

draws "messages of a run with pairs" comm hybrid
draws "pairs of two phases" comm hybrid/comm.csv --phase let_select,hard_let
draws "messages of a run without pairs" comm tree
draws "two runs compared" comm tree hybrid
# the lines 'interactions, all' and 'bytes between ranks, all' against the tables
awk '
  function column(name,  i) { for (i = 1; i <= NF; i++) if ($i == name) return i }
  FILENAME ~ /csv$/ { FS = ","; $0 = $0 }
  /^#/ { next }
  $1 == "step" { split("", at); at["full"] = column("pairs_full"); at["hard"] = column("pairs_hard");
    at["dt"] = column("dt_soft")
    at["bytes"] = column("bytes"); at["rank"] = column("rank"); next }
  FILENAME ~ /steps/ { run = FILENAME; sub("/steps.csv", "", run); sub(".*/", "", run);
    pairs[run] += $at["full"] + $at["hard"]; span[run] += $at["dt"]; next }
  FILENAME ~ /comm/ { run = FILENAME; sub("/comm.csv", "", run); sub(".*/", "", run); if ($1 > 0 &&
    $at["rank"] == -1) bytes[run] += $at["bytes"]; next }
  { FS = " "; $0 = $0 }
  function near(found, expected, what) { n++; if (found > 1.0006 * expected ||
    found < 0.9994 * expected) { print "#", what, found, expected; bad = 1 } }
  /^interactions, all/ { near($4, pairs[$3] / span[$3], $0) }
  /^bytes between ranks, all/ { near($6, bytes[$5] / span[$5], $0) }
  /^interactions, all .*hybrid.* x[0-9]/ { sub(".* x", ""); ratio = $1; n++;
    r = (pairs["hybrid"] / span["hybrid"]) / (pairs["tree"] / span["tree"])
    if (ratio > r + 0.006 || ratio < r - 0.006) { print "# ratio", ratio, r; bad = 1 } }
  END { exit bad || n != 5 }' tree/steps.csv tree/comm.csv hybrid/steps.csv hybrid/comm.csv said
ok $? "the comparison's numbers are those of the tables"
draws "steps" steps hybrid
has said '^text split radii$' && has said '^text hard_walk [0-9<]' && has said '^text hard$' && has said '^axes 5$'
ok $? "... with the radii of the split"
# names that matplotlib would take for a formula, or leave said
ln -s hybrid "a\$_\$b" && ln -s one _one
draws "energies of runs with unusual names" energy "a\$_\$b" _one
grep -q -F 'text  _one: largest' said && grep -q -F 'text a\$_\$b: largest' said
ok $? "the names of both"
draws "energy" energy hybrid one
"$python" - "$src/tools" one one.log > said 2> err << 'END'
import sys
sys.path.insert(0, sys.argv[1])
import plot_energy as energy
from plotting import Table, np, plt
energy.save = lambda figure, paths: None
energy.draw([Table(sys.argv[2] + "/energy.csv")], False, [])
axes = {axis.get_title(loc="left"): axis for axis in plt.gcf().axes}
words = [line for line in open(sys.argv[3]) if line.startswith("kept:")][0].replace(",", "").split()
drawn = [axes[name].lines[0].get_ydata().max() for name in ("momentum", "angular momentum")]
print(words, drawn, axes["angular momentum"].get_ylabel())
assert np.allclose(drawn, [float(words[6]), float(words[12])], rtol=0.06)
assert "r\\times v" in axes["angular momentum"].get_ylabel()
END
ok $? "the errors of momentum and angular momentum are those that the run printed"
try espalier force --delta 5:9:2 --direct 100 -o curve.csv run.ini
draws "curves of error against time" force curve.csv curve.csv --targets 1e-3,5e-3
# a row for every substep of rank 0, which may have fewer than the rank with most, and one for the synchronisation
draws "block steps" substeps tree &&
  awk '
  function column(name,  i) { for (i = 1; i <= NF; i++) if ($i == name) return i }
  BEGIN { FS = "," }
  /^#/ { next }
  $1 == "step" { split("", at); for (i = 1; i <= NF; i++) at[$i] = i; next }
  FILENAME ~ /substeps/ { rows[$1]++; ends[$1] += $at["tick"] == 2 ^ 30; sum = 0
    for (part = at["select"]; part <= at["correct"]; part++) { sum += $part; bad = bad || $part < -0.01 }
    bad = bad || sum > $at["all"] + 0.01 || $at["active"] < 1 || $at["active"] > 600; next }
  { bad = bad || rows[$1] < 2 || rows[$1] > $at["substeps"] + 1 || ends[$1] != 1; steps++ }
  END { exit bad || steps < 1 }' tree/substeps.csv tree/steps.csv
ok $? "rows of block steps: as many as there are, parts within the whole"
check "no rows where they are not asked for" test ! -e hybrid/substeps.csv
draws "density, of few particles as points" density hybrid/snapshot_000.hdf5
check "... without a scale of colours" has said '^axes 2$'
draws "profile" profile hybrid/snapshot_000.hdf5 --model plummer
draws "energies of one run, on a logarithmic scale" energy hybrid --log
draws "steps without a split" steps tree
has said '^text walk of substeps [0-9<]' && lacks said 'split radii\|hard' && has said '^axes 4$'
ok $? "... without radii, and walks of substeps by that name"
mkdir trial && cp tree/timers.csv trial &&
  awk -F, -v OFS=, '/^step/ { for (i = 1; i <= NF; i++) if ($i == "R2") at = i; print; next }
    !/^#/ { none = $0; if (!done++) $at = 0.1 }
    { print } END { print none; print none; print none }' \
    tree/steps.csv > trial/steps.csv
draws "steps with a split only at the start" steps trial
has said '^text walk of substeps [0-9<]' && lacks said 'split radii\|hard'
ok $? "... have no radii either"
draws "profiles of a run" profile hybrid
draws "profiles by type" profile hybrid --by-type
draws "a cluster, of a run without the columns of its stars" cluster tree
# a run of stars, in pc and solar masses: columns of steps.csv, soft steps without pairs, values that are missing
mkdir stars && cp hybrid/*.hdf5 stars && "$python" - stars << 'END'
import glob, sys, h5py, numpy
for path in glob.glob(sys.argv[1] + "/*.hdf5"):
    with h5py.File(path, "a") as file:
        for group in ("Units", "Parameters", "Header"):
            file[group].attrs["UnitSystem"] = numpy.bytes_("physical")
            file[group].attrs.update(UnitLength_in_cm=3.085678e18, UnitMass_in_g=1.989e36,
                                     UnitVelocity_in_cm_per_s=207417.0)
END
in_units='UnitLength_in_cm = 3.085678e18, UnitMass_in_g = 1.989e36, UnitVelocity_in_cm_per_s = 207417'
in_units="$in_units, GravityConstantInternal = 1"
for table in energy steps; do
  sed "s/^# units: .*/# $in_units/" "hybrid/$table.csv" |
    if [ $table = energy ]; then cat; else
      awk -F, -v OFS=, '/^#/ { print; next }
        /^step/ { print "neighbours", "hard_steps", "binaries", "shortest_period", "largest_eccentricity", $0; next }
        { n++; pairs = (n > 2);
          print 10 + n / 9, 40000 + 100 * n, pairs * n, pairs ? 1e-6 / n : 1e300, pairs ? 0.9 : "", $0 }'
    fi > "stars/$table.csv"
done
draws "a cluster of stars" cluster stars --true-energies on
has said '^axes 10$' && has said '^text time \[Myr\]' && has said '^text change \[.*M\$_' &&
  has said '^text isolated: by Kepler' && has said '^text binary fraction$' &&
  has said '^text dispersion per axis \[km/s\]$' &&
  has said '^text .*: 600 particles, lengths in pc, times in Myr'
ok $? "all panels and their units"
has said '^text bound, 50 %' && lacks said '^text Jacobi'
ok $? "bound stars of snapshots, without a Jacobi radius"
printf '%s\n' "# $in_units" time,bound_mass,half_mass_radius,tide,jacobi_radius,jacobi_mass,escapers 0,1,0.8,,,,3 \
  0.5,0.9,0.7,1,4,0.95,5 1,0.8,0.6,1,3.5,0.9,6 > stars/cluster.csv
draws "a cluster with cluster.csv" cluster stars --true-energies off
plots cluster stars --true-energies off --table stars.csv && grep -q '^# UnitLength_in_cm = ' stars.csv &&
  [ "$(columns stars.csv core_radius | wc -w)" = "$(ls stars/snapshot_*.hdf5 | wc -l)" ] &&
  [ "$(columns stars.csv bound_mass half_mass_radius | sed -n 1p)" = '1 0.8' ]
ok $? "a table of snapshots with the numbers of cluster.csv at their times"
draws "... drawn again" cluster stars --true-energies off
has said '^text bound, 50 %' && has said '^text Jacobi' && has said '^text in Jacobi$' &&
  has said '^text mass \['
ok $? "bound stars and the Jacobi radius of cluster.csv"
"$python" - "$src/tools" stars > said 2> err << 'END'
import sys, types
sys.path.insert(0, sys.argv[1])
import plot_cluster as cluster
given = dict(snapshots=[sys.argv[2]], types=None, partial=False, most=400, true_energies="off")
bound = cluster.read(types.SimpleNamespace(**given))[-1]
print(bound.time, bound.bound_mass, bound.jacobi_radius, bound.jacobi_mass)
assert list(bound.bound_mass) == [1, 0.9, 0.8] and list(bound.jacobi_radius[1:]) == [4, 3.5]
END
ok $? "... which are the numbers of the table"
# Plummer's sphere: Lagrangian radii from M(r), core radius 0.679 of the scale radius; energies as by tests/true_energy
try espalier ic plummer -n 8192 -o sphere.hdf5 &&
  "$here/tests/true_energy" hybrid/snapshot_00?.hdf5 > true 2> err &&
  "$python" - "$src/tools" sphere.hdf5 true hybrid/snapshot_00?.hdf5 > said 2> err << 'END'
import sys, types
sys.path.insert(0, sys.argv[1])
import plot_cluster as cluster
from plotting import np
arguments = types.SimpleNamespace(types=None, partial=False)
moment = cluster.Moment(sys.argv[2], arguments, False)
scale = 3 * np.pi / 16
expected = [scale / np.sqrt(f ** (-2 / 3) - 1) for f in cluster.FRACTIONS]
print(np.array(moment.radii) / expected, moment.core / scale, moment.centre, moment.relaxation())
assert (abs(np.array(moment.radii) / expected - 1) < [0.15] + [0.05] * 6).all()
assert abs(moment.core / scale - 0.679) < 0.03
assert abs(moment.centre).max() < 0.03 and moment.pairs == 0 and abs(moment.relaxation() / 112 - 1) < 0.05
pos = np.random.default_rng(1).normal(size=(700, 3)) ** 3
index, distance = cluster.nearest(pos, 6)
every = np.linalg.norm(pos[:, None] - pos[None], axis=2)
np.fill_diagonal(every, np.inf)
assert np.allclose(np.sort(every, axis=1)[:, :6], distance, rtol=1e-13)
assert np.allclose(every[np.arange(700)[:, None], index], distance, rtol=1e-13)
pair, vel = pos.copy(), np.full((700, 3), 0.5)
pair[1], vel[1, 0] = pair[0] + [0, 1e-4, 0], 90.5
index = cluster.nearest(pair, 6)[0]
count = [cluster.hard_pairs(pair, vel, np.full(700, 1 / 7), g, eps, index) for g, eps in ((1, 0), (0.01, 0), (1, 0.1))]
print(count)
assert count[0] >= 1 and count[1:] == [0, 0]
found = [cluster.Moment(path, arguments, True).energy for path in sys.argv[4:]]
stated = np.loadtxt(sys.argv[3])[:, 3]
print(found, stated)
assert len(found) == len(stated) > 1 and np.allclose(found, stated, rtol=1e-13)
END
ok $? "radii, core and hard pairs of models, true energies as by tests/true_energy"
# in an external potential the snapshots state the energy in it
awk 'BEGIN { for (k = -5; k <= 5; k++) print 0.1 * k, 0.1 * k, 3, 0, 1, 0, 0 }' > orbit.txt
run 2 field -P Split:Mode=tree -P Output:TimeBetSnapshot=0.03125 -P "External:Potential1=nfw mass=4 scale=1.2" &&
  run 2 moving -P Split:Mode=tree -P "External:Potential1=plummer mass=4 scale=1.2 orbit=orbit.txt"
ok $? "runs in a potential at rest, and in one that moves"
check "true energies in a potential" try "$here/tests/true_energy" --max 1e-4 field/snapshot_*.hdf5
draws "a cluster in a potential" cluster field --true-energies on
check "its true error is small" has said '[0-9]e-0[5-9] .true.$'
draws "a cluster in a potential that moves" cluster moving
check "no error where the potential moves" has said 'dE/E. none, since the external potential moves$'
check "nor a true energy" says 1 'its external potential moves, so the energy is not conserved' -- \
  "$here/tests/true_energy" moving/snapshot_*.hdf5
# seven snapshots in a row, nine in two rows, and twenty-one of forty in three
mkdir rows
copies() {
  while [ "$copied" -lt "$1" ]; do
    ln -s ../hybrid/snapshot_000.hdf5 "rows/$(printf 's_%03d.hdf5' "$copied")"; copied=$((copied + 1))
  done
}
copied=0
copies 7
draws "density in a row" density rows --draw maps --pixels 64
check "seven from above, seven from the side, and a scale" has said '^axes 15$'
copies 9
draws "density in rows" density rows --draw maps --pixels 64
check "nine of each" has said '^axes 19$'
copies 40
draws "density of many" density rows --draw maps --pixels 64
has said '^axes 43$' && has said '^drawn: 21 of 40 snapshots'
ok $? "twenty-one of each, and it is said"
draws "profiles of many" profile rows
# spheres that swell and shrink, so that their radii pass everywhere
mkdir swing && "$python" - hybrid/snapshot_000.hdf5 swing << 'END'
import shutil, sys, h5py
for k in range(9):
    path = f"{sys.argv[2]}/s_{k:03}.hdf5"
    shutil.copy(sys.argv[1], path)
    with h5py.File(path, "a") as file:
        file["Header"].attrs["Time"] = float(k)
        file["PartType1/Coordinates"][...] *= 4.0 if k % 2 else 1.0
END
draws "radii everywhere" profile swing
# a scaling study on up to 4096 ranks
awk 'BEGIN { printf "study,ranks,particles,seconds,bytes_per_rank,messages_per_rank,wait,hidden,imbalance,"
  printf "imbalance_seconds,t_domain,t_order,t_build,t_moments,t_let_select,t_walk,t_hard_let,t_hard_walk,t_correct,"
  print "t_wait,t_other,backend"
  for (k = 0; k < 2; k++) for (p = 1; p <= 4096; p *= 2) { n = k ? 1000 : 1000000 / p; lost = 0.02 * log(p)
    print (k ? "weak," : "strong,") p "," n * p "," n / 1000 + lost "," (p > 1) * n * 100 "," (p > 1) * 3 * log(p) \
      ",0,0," 1 + lost "," 1 + 2 * lost "," lost / 9 "," n / 5e4 "," n / 2e4 "," n / 2e4 "," lost / 3 "," n / 2e3 \
      "," lost / 3 "," n / 4e3 "," n / 5e4 "," lost / 5 "," n / 1e5 ",cpu" } }' > scaling.csv
draws "a scaling study" scaling "$dir"

plots comm hybrid one -o plot.png && has err 'different numbers of ranks: 3, 1'
ok $? "three ranks and one can be compared, and it is said"

# says FRAGMENT ARGUMENT...: status 1, one line that begins with the script's name, no picture
says() {
  fragment=$1
  shift
  rm -f plot.png
  plots comm -o plot.png "$@"
  status=$?
  [ $status = 1 ] && [ "$(wc -l < err)" = 1 ] && has err "^espalier-plot comm: .*$fragment" && [ ! -e plot.png ]
  ok $? "status $status: $fragment"
}
mkdir empty names begun columns words bare
: > empty/comm.csv
grep -E '^(#|step)' hybrid/comm.csv > names/comm.csv
grep -E '^(#|step|0,)' hybrid/comm.csv > begun/comm.csv
sed 's/hidden_mean/hiden/' hybrid/comm.csv > columns/comm.csv
rows hybrid/comm.csv > bare/comm.csv
printf 'a,b\n1,2\n' > words/other.csv
says 'absent is not there' absent
says 'absent is not there' hybrid absent
says 'comm.csv is not there: no run' words
says 'comm.csv is not there: on one rank' one
says 'comm.csv is not there: the run on 3 ranks had CommLog = off' off
says 'CommLog = off' hybrid off
says 'steps.csv cannot be read: No such file' hybrid begun
says 'is empty' empty
says 'has no rows yet' names
says 'has no soft step yet' begun
says "has no column 'hidden_mean'" columns
says 'no line that names the number of ranks' bare
says 'other.csv is neither' words/other.csv
says 'plummer.hdf5 is neither' plummer.hdf5
says "no phase 'rest'" hybrid --phase rest
says 'between ranks nothing was sent in wait' hybrid --phase wait
says 'run with CommLog = peers' tree --phase all
says 'phase is for the plot of one run' tree hybrid --phase all
says 'cannot be written' hybrid -o absent/plot.png

# Names and kinds of pictures; what calls the script; a disk that is full.
ln -s "$(cd "$src" && pwd)/tools/espalier-plot" "$dir/plots" &&
  "$dir/plots" energy "$dir/one" -o "$dir/two.png" -o "$dir/two.pdf" > said 2> err &&
  head -c 4 two.png | grep -q PNG && head -c 5 two.pdf | grep -q '%PDF-' && [ "$(wc -l < said)" = 2 ]
ok $? "PNG and PDF of one call, by a link"
ln -s /dev/full full.png
plots comm hybrid -o full.png
[ $? = 1 ] && [ "$(wc -l < err)" = 1 ] &&
  has err '^espalier-plot comm: .*full.png cannot be written: No space left on device'
ok $? "a sentence for a full disk"
try "$plot" nothing
[ $? = 2 ] && has err "^espalier-plot: there is no plot 'nothing': expected one of map density"
ok $? "a kind that is not there"

# Tables of espalier study: only the columns that are drawn.
printf %s R1_over_R0,ranks,local_mean,soft_mean,hard_mean,soft_bytes,hard_bytes,update_bytes,hard_over_soft > study.csv
cat >> study.csv << END
,local_hard_over_local_soft
1,1,4096,0,0,0,0,0,nan,1
1,2,2048,900,600,40000,30000,9000,0.667,0.9
1,8,512,1400,700,70000,36000,9000,0.5,0.63
END
if [ -e "$src/tools/plot_study.py" ]; then
  draws "a table of espalier study" comm study.csv
  awk 'NR == 1 { print "scheme," $0; next } { print (NR % 2 ? "hybrid," : "block,") $0 }' study.csv > schemes.csv
  draws "a table of espalier study with schemes" comm schemes.csv
else
  says 'plot_study.py, which draws it, is not beside' study.csv
fi
says 'and .*hybrid is not: draw them' study.csv hybrid
for steps in nan,inf 3 5,2 a,b; do
  plots substeps tree --steps $steps -o plot.png
  [ $? = 1 ] && [ "$(wc -l < err)" = 1 ] && has err '^espalier-plot substeps: --steps: two numbers'
  ok $? "a sentence for --steps $steps"
done
for steps in 1e6,2e6 -5,-1 0.2,0.4; do
  plots substeps tree --steps=$steps -o plot.png
  [ $? = 1 ] && [ "$(wc -l < err)" = 1 ] &&
    has err '^espalier-plot substeps: --steps: the table has the block steps 0 to [0-9]*, none from'
  ok $? "a sentence for --steps $steps"
done

plots substeps hybrid -o plot.png
[ $? = 1 ] && has err '^espalier-plot substeps: .*substeps.csv is not there: a run writes it with SubstepLog = on'
ok $? "block steps that were not logged: how to log them"
"$plot" substeps --help | grep -q '^usage: espalier-plot substeps ' && "$plot" substeps --absent 2>&1 |
  grep -q '^espalier-plot substeps: error: '
ok $? "a plot has the name that it is called by"
awk 'BEGIN { print "step,tick,level,active,groups,rebuilt,select,rebuild,moments,walk,correct,all"
  for (i = 0; i < 40; i++) print i ",0," (i < 20 ? 3 : 5) ",100,9," (i == 7) ",0.1,0,0.2,0.5,0.1,1" }' > substeps.csv
draws "some of the block steps" substeps substeps.csv --steps 19.5,40
lacks -e '^text tree rebuilt' '^text rebuild' -e '^text 3 (' said && has said '^text 5 (100 active)'
ok $? "the legends name only what is drawn"
draws "all of them" substeps substeps.csv
has said '^text tree rebuilt' && has said '^text 3 ('
ok $? "... and all of that"
awk 'BEGIN { printf "# espalier, study time\nmachine,scheme,particles,ranks,per_rank,by,dt_soft,soft_step_seconds,"
  printf "unit_seconds,migration_critical,step_critical,tree_critical,let_select_critical,walk_critical,"
  print "hard_let_critical,hard_walk_critical,collective_critical,wait_critical"
  for (s = 0; s < 2; s++) for (p = 1; p <= 4096;
    p *= 4) { printf "%s", "a machine," (s ? "hybrid" : "shared") ",8000," p "," 8000 / p
      printf "%s", "," (p > 256 ? "law*" : "count") ",0.01," 9 / p "," 900 / p
      for (k = 0; k < 9; k++) printf "%s", "," 1 / p
      print "" } }' > time.csv
draws "predicted times" time time.csv
has said '^text shared$' && has said '^text parts of the soft step, hybrid$' && has said '^text collective$'
ok $? "schemes and parts have names"
sed 's/^a machine/another/' time.csv > other.csv
draws "predicted times on two machines" time time.csv other.csv
check "machines have names where there are several" has said '^text hybrid, another$'
plots time study.csv -o plot.png
[ $? = 1 ] && [ "$(wc -l < err)" = 1 ] && has err "^espalier-plot time: .*study.csv has no column 'per_rank'"
ok $? "a table of another study: a sentence"
draws "trees between ranks" study study.csv
check "the paper has a name" has said '^text Watanabe & Nakasato 2014: 0.4'

# refuses FRAGMENT ARGUMENT...: compare-schemes, before its first run
refuses() {
  fragment=$1
  shift
  try "$src/tools/compare-schemes" "$@"
  [ $? = 1 ] && [ ! -s said ] && [ "$(wc -l < err)" = 1 ] && has err "^compare-schemes: .*$fragment"
  ok $? "compare-schemes: $fragment"
}
refuses 'absent: there is no such program' absent plummer.hdf5 0.1
refuses 'absent: there is no such file' "$here/espalier" absent 0.1
refuses "SOFTENING: expected a number above 0, found 'nan'" "$here/espalier" plummer.hdf5 nan
refuses 'launcher: absent: there is no such program' "$here/espalier" plummer.hdf5 0.1 --launcher 'absent -n 2'
refuses 'launcher: .*No closing quotation' "$here/espalier" plummer.hdf5 0.1 --launcher "mpirun '"
refuses "time: expected a number above 0, found 'x'" "$here/espalier" plummer.hdf5 0.1 --time x
refuses 'table: .*t.csv cannot be written' "$here/espalier" plummer.hdf5 0.1 --table absent/t.csv
refuses 't.foo: expected a name that ends in .png' "$here/espalier" plummer.hdf5 0.1 --picture t.foo
refuses 'picture: .*t.png cannot be written' "$here/espalier" plummer.hdf5 0.1 --picture absent/t.png

# A program that takes 4 s / step, 2 s / eta and R1 s / 2 eta for errors of 1e-4 step^2, 1e-6 k eta^2 (but not below
# 8e-6: noise) and 1e-5 xs eta^2 (3 / R1)^2.
cat > schemes << 'END'
#!/bin/sh
for word; do
  case $word in
    Steps:FixedStep=*) shared=${word#*=} ;; Steps:Eta=*) eta=${word#*=} ;; Split:R1OverR0=*) r1=${word#*=} ;;
    Split:xs=*) xs=${word#*=} ;; Time:MaxSizeTimestep=*) k=${word#*=} ;;
  esac
done
out=$(sed -n 's/^OutputDir = //p' "$word")
mkdir "$out" && awk "BEGIN { step = 0 + \"$shared\"; eta = 0 + \"$eta\"; k = 0 + \"$k\"; xs = 0 + \"$xs\"
  if (step) { e = 1e-4 * step * step; t = 4 / step }
  else if (k) { e = 1e-6 * k * eta * eta; if (e < 8e-6) e = 8e-6; t = 2 / eta }
  else { e = 1e-5 * xs * (3 * eta / \"$r1\") ^ 2; t = 0.5 * \"$r1\" / eta }
  print \"dE,seconds,evaluations_full,evaluations_hard,h\\n-\" e \",\" t \",100,\" 1000 * t \",0.5\" }" \
  > "$out/steps.csv"
END
chmod +x schemes
try "$src/tools/compare-schemes" "$dir/schemes" plummer.hdf5 0.65 --few --picture schemes.png
status=$?
row() { [ "$(sed -n "/^Seconds/,\$s/^| $1 | //p" said)" = "$2" ]; }
[ $status = 0 ] && row 3.00e-06 '- | - | 1.5 | - | - | - |' && row 8.00e-06 '- | 2 | 0.919 | 0.46 | - | block |' &&
  row 1.60e-05 '- | 1 | 0.65 | 0.65 | - | - |' && row 3.20e-05 '7.07 | 1 | 0.5 | 0.50 | 0.07 | - |' &&
  row 8.29e-05 '4.39 | 1 | 0.417 | 0.42 | 0.09 | - |'
ok $? "compare-schemes: the least seconds for an error or a smaller one"
[ ! -e launched ]; ok $? "compare-schemes: no launcher unless asked"
printf '#!/bin/sh\necho "$1" >> "%s/launched"\nshift\nexec "$@"\n' "$dir" > launch && chmod +x launch
"$src/tools/compare-schemes" "$dir/schemes" plummer.hdf5 0.65 --few --picture schemes.png \
  --launcher "$dir/launch 'by this'" > launched.out 2>&1
[ $? = 0 ] && [ "$(sort -u launched)" = 'by this' ] && cmp -s said launched.out
ok $? "compare-schemes: a launcher for every run"
has said '^noise: the error of shared still falls with the step; block does not get below 8.0e-06 by shorter steps; ' &&
  has said 'by shorter steps; the error of hybrid still falls'
ok $? "compare-schemes: where forces' errors dominate"
head -c 4 schemes.png | grep -q PNG
ok $? "compare-schemes: a picture"
finish
