#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# yt opens every kind of snapshot and finds its particles, mass, units and time, and draws by the recipe of
# doc/readers.md. Every version of yt is tried that these have: Debian's python3, ESPALIER_PYNBODY (a python3 with
# modules from PyPI), python3.
. "${srcdir:-.}/tests/harness.sh"
. "$src/tests/recipe.sh"
# "VERSION PYTHON", one for each version
for p in /usr/bin/python3 ${ESPALIER_PYNBODY:+"$ESPALIER_PYNBODY"} python3; do
  version=$("$p" -c 'import yt; print(yt.__version__)' 2> /dev/null) && echo "$version $p"
done | sort -u -k 1,1 > versions
[ -s versions ] || skip_all "/usr/bin/python3 has no yt (Debian: python3-yt)"
mass=$(timeout 60 $(starter 2) "$here/tests/make_snapshot" yt_000.hdf5 2> err) &&
  timeout 60 $(starter 2) "$here/tests/make_snapshot" yt_001.hdf5 2 > said 2>&1 && recipe_snapshots
ok $? "snapshots"
cat > read.py << 'END'
import sys
import yt
yt.set_log_level(50)
ds = yt.load(sys.argv[1])
data = ds.all_data()
mass = sum(float(data[t, "Masses"].sum().in_units("Msun")) for t in ("PartType0", "PartType1", "PartType2"))
expected = float(sys.argv[2]) * 1e10
print("# yt %s, %s: %g Msun, expected %g; %s %s %s" % (yt.__version__, ds.dataset_type, mass, expected, ds.length_unit,
      ds.mass_unit, ds.velocity_unit))
assert ds.dataset_type == "gadget_hdf5"
assert abs(mass / expected - 1) < 1e-6
assert abs(float(ds.length_unit.in_units("cm")) / 3.085678e21 - 1) < 1e-4
assert abs(float(ds.mass_unit.in_units("g")) / 1.989e43 - 1) < 1e-3
assert abs(float(ds.velocity_unit.in_units("cm/s")) / 1e5 - 1) < 1e-6
assert float(ds.current_time) == 0.75
assert len(data["PartType1", "Acceleration"]) == 200
assert sum(len(data[t, "ParticleIDs"]) for t in ("PartType0", "PartType1", "PartType2")) == 600
END
# after the recipe: the mass in the units of the snapshot; labels of a model without solar masses and kpc
cat > look.py << 'END'
labels = plot.plots[field].axes.get_xlabel() + plot.plots[field].cb.ax.get_ylabel()
total = float(ds.all_data()["PartType1", "Masses"].sum().in_units("g"))
print(f"# {labels}; {total:g} g, velocities in {ds.velocity_unit}")
if kind == "model":
    assert "code" in labels and "kpc" not in labels and "odot" not in labels
    assert abs(total - 1) < 1e-5 and abs(float(ds.velocity_unit.in_units("cm/s")) / 2.583467e-4 - 1) < 1e-5
else:
    assert "kpc" in labels and "odot" in labels
    assert abs(total / 1.989e43 - 1) < 1e-5 and abs(float(ds.velocity_unit.in_units("km/s")) / 207.417 - 1) < 1e-5
END
# pyespalier as it is installed: yt finds its reader by the entry point
mkdir -p site/pyespalier-0.dist-info && printf 'Metadata-Version: 2.1\nName: pyespalier\nVersion: 0\n' \
  > site/pyespalier-0.dist-info/METADATA
sed -n '/^\[project.entry-points."yt.frontends"\]/,/^$/p' "$src/python/pyproject.toml" |
  sed 's/^\[project.*/[yt.frontends]/; s/"//g' > site/pyespalier-0.dist-info/entry_points.txt
# with_reader PYTHON...: the same python with the package; yt before 4.2 has no entry points
with_reader() {
  cat << END
#!/bin/sh
export PYTHONPATH="$dir/site:$src/python"
case \$1 in
  *.py) exec "$1" -c "import sys, runpy
import yt
if yt.version_info < (4, 2): import espalier_plots.yt_dataset
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0])" "\$@" ;;
  *) exec "$1" "\$@" ;;
esac
END
}
cat > own.py << 'END'
import sys
import yt
yt.set_log_level(50)
ds = yt.load("yt_001.hdf5")   # virtual datasets
assert len(ds.all_data()["all", "particle_position"]) == 600
ds = yt.load(sys.argv[1])
data = ds.all_data()
x = data["all", "particle_position"].in_units("code_length")
assert type(ds).__name__ == "EspalierDataset", type(ds)
assert len(x) == 600 and float(abs(x).max()) * 1.04 < float(ds.domain_right_edge[0]) == -float(ds.domain_left_edge[0])
assert abs(float(ds.length_unit.in_units("cm")) / 3.085678e21 - 1) < 1e-5
ds = yt.load(sys.argv[1], bounding_box=[[-50, 50]] * 3, unit_base={"length": (2, "kpc")})
assert float(ds.domain_right_edge[0]) == 50 and abs(float(ds.length_unit.in_units("kpc")) - 2) < 1e-5
END
while read -r version python <&3; do
  with_reader "$python" > with && chmod +x with
  # the single file, the virtual one, and the first of several
  for name in yt_000.hdf5 yt_001.hdf5 snapdir_001/yt_001.0.hdf5; do
    check "yt $version finds particles, mass, units and time in $name" try timeout 120 "$python" read.py $name "$mass"
  done
  check "... and their units and box by the reader of pyespalier" try timeout 120 ./with own.py \
    snapdir_001/yt_001.0.hdf5
  recipe yt yt.png "$dir/with"
done 3< versions
finish
