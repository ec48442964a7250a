#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Catalogues of friends-of-friends groups: of a run, of a restart, of the command, on several ranks; their fields; bad input.
. "${srcdir:-.}/tests/harness.sh"
model 1500
with_python "h5py, numpy"
set -- -P Output:Groups=on -P Output:GroupMinSize=8
# groups RANKS ARGUMENT...: the command, in the test's folder
groups() {
  on=$1
  shift
  (cd "$dir" && timeout 60 ${MPIRUN:-mpirun} $MPIRUN_FLAGS -n "$on" espalier groups "$@") > "$dir/said" 2> "$dir/err" < /dev/null
}
catalogues() { (cd "$dir/$1/out" && ls fof_*.hdf5 2> /dev/null | tr '\n' ' '); }

# --- runs ---
go straight 2 "$@"
ends 0 && [ "$(catalogues straight)" = "fof_000.hdf5 fof_001.hdf5 fof_002.hdf5 fof_003.hdf5 fof_004.hdf5 " ]
ok $? "a run with Groups = on: a catalogue for each snapshot"
[ "$(grep -c '^catalogue out/fof_00.\.hdf5: [1-9][0-9]* groups* of 8 particles and more, with [1-9][0-9]* of 1500 particles; linking length 0\.[0-9]* (.* s)$' straight/log)" = 5 ]
ok $? "... the log names them, what is in them and their seconds"
awk -F, '/^#/ { next } !c { for (i = 1; i <= NF; i++) if ($i == "fof") c = i; next } { s += $c } END { exit !(c && s > 0) }' straight/out/timers.csv
ok $? "... and timers.csv has their phase"
go parts 2 -n 3 "$@"
go parts 2 -r "$@"
bad=$status
for k in 0 1 2 3 4; do cmp "straight/out/fof_00$k.hdf5" "parts/out/fof_00$k.hdf5" || bad=1; done
same straight parts || bad=1
ok $bad "interrupted, and gone on with: the same catalogues, snapshots and tables"
go without 2
rows without/out/energy.csv > one
rows straight/out/energy.csv > two
[ "$(catalogues without)" = "" ] && [ -s one ] && cmp one two
ok $? "without Groups: no catalogue, the same energies"

# --- the command ---
shown="said err"
for ranks in 1 3 5; do
  bad=0
  for k in 0 4; do
    groups $ranks --min-size 8 -o again.hdf5 --overwrite "straight/out/snapshot_00$k.hdf5" && cmp again.hdf5 "straight/out/fof_00$k.hdf5" || bad=1
  done
  ok $bad "espalier groups on $ranks ranks: the same catalogue as the run's, byte by byte"
done
cp straight/out/snapshot_003.hdf5 straight/out/snapshot_004.hdf5 "$dir"
groups 2 --min-size 8 snapshot_003.hdf5 snapshot_004.hdf5 && cmp fof_003.hdf5 straight/out/fof_003.hdf5 && cmp fof_004.hdf5 straight/out/fof_004.hdf5
ok $? "two snapshots: catalogues beside them, by number"
awk 'BEGIN { for (i = 0; i < 60; i++) print i % 30 * 0.9 + (i < 30 ? 0 : 500), 0, 0, 0, 0, 0, 1 }' > chains.txt
groups 5 --linking-length 1 chains.txt && has said '^catalogue fof_chains.txt.hdf5: 0 groups of 32 particles and more, with 0 of 60 particles; linking length 1 '
ok $? "an ASCII file: groups that are too small"
groups 5 --linking-length 1 --min-size 30 --overwrite chains.txt && has said ': 2 groups of 30 particles and more, with 60 of 60 particles'
ok $? "... and across all ranks"
groups 5 --linking-length 1e3 --overwrite chains.txt && has said ': 1 group of 32 particles and more, with 60 of 60 particles'
ok $? "... one group"

# --- fields ---
cat > fields.py << 'END_OF_PYTHON'
import sys
import h5py
import numpy
def brute(x, link, length):
    """Components by spreading the smallest index; others get that of the nearest linking particle."""
    near = ((x[:, None] - x[None]) ** 2).sum(2)
    n = len(x)
    label = numpy.where(link, numpy.arange(n), n)
    adjacent = (near <= length ** 2) & link[:, None] & link[None]
    while True:
        new = numpy.where(link, numpy.where(adjacent, label[None], n).min(1), n)
        if (new == label).all():
            break
        label = new
    near[:, ~link] = numpy.inf
    nearest = near.argmin(1)
    return numpy.where(link, label, numpy.where(near.min(1) <= length ** 2, label[nearest], n))
def read(name):
    out = {}
    for t in range(6):
        if f"PartType{t}" not in name:
            continue
        g = name[f"PartType{t}"]
        n = len(g["ParticleIDs"])
        for k in g:
            out.setdefault(k, []).append(g[k][...])
        out.setdefault("type", []).append(numpy.full(n, t))
    return {k: numpy.concatenate(v) for k, v in out.items()}
snap, cat = h5py.File(sys.argv[1], "r"), h5py.File(sys.argv[2], "r")
types = [int(t) for t in sys.argv[3].split(",")]
p, g, head, ids = read(snap), {k: v[...] for k, v in cat["Group"].items()}, cat["Header"].attrs, cat["IDs/ID"][...]
n, smallest = len(g["GroupLen"]), int(cat["Parameters"].attrs["GroupMinSize"])
assert head["Ngroups_Total"] == head["Ngroups_ThisFile"] == n > 0, "Ngroups"
assert head["Nids_Total"] == head["Nids_ThisFile"] == len(ids) == g["GroupLen"].sum(), "sum of GroupLen = ids"
assert head["Time"] == snap["Header"].attrs["Time"] and head["NumFiles"] == 1, "Header"
assert (numpy.diff(g["GroupLen"].astype(int)) <= 0).all() and g["GroupLen"].min() >= smallest, "order"
assert (g["GroupLenType"].sum(1) == g["GroupLen"]).all(), "GroupLenType"
assert (g["GroupOffset"] == numpy.concatenate([[0], g["GroupLen"].cumsum()[:-1]])).all(), "GroupOffset"
assert numpy.allclose(g["GroupMassType"].sum(1), g["GroupMass"], rtol=1e-14), "GroupMassType"
link, order = numpy.isin(p["type"], types), numpy.argsort(p["ParticleIDs"])
label = brute(p["Coordinates"].astype(float), link, head["LinkingLength"])
seen = 0
for k in range(n):
    mine = ids[int(g["GroupOffset"][k]):int(g["GroupOffset"][k] + g["GroupLen"][k])]
    at = order[numpy.searchsorted(p["ParticleIDs"], mine, sorter=order)]
    assert (p["ParticleIDs"][at] == mine).all(), "ids"
    assert len(set(label[at])) == 1 and (label == label[at[0]]).sum() == len(at), "members"
    assert g["GroupLabel"][k] == p["ParticleIDs"][at[link[at]]].min(), "GroupLabel"
    m = p["Masses"][at].astype(float)
    assert all(m[p["type"][at] == t].sum() == 0 or abs(g["GroupMassType"][k][t] / m[p["type"][at] == t].sum() - 1) < 1e-12 for t in range(6)), "mass"
    assert all(g["GroupLenType"][k][t] == (p["type"][at] == t).sum() for t in range(6)), "types"
    cm = (m[:, None] * p["Coordinates"][at]).sum(0) / m.sum()
    assert numpy.allclose(g["GroupCM"][k], cm, rtol=1e-12, atol=1e-12), "GroupCM"
    assert numpy.allclose(g["GroupVel"][k], (m[:, None] * p["Velocities"][at]).sum(0) / m.sum(), rtol=1e-12, atol=1e-12), "GroupVel"
    lowest = p["Coordinates"][at[p["Potential"][at].argmin()]] if "Potential" in p else g["GroupCM"][k]
    assert (g["GroupPos"][k] == lowest).all(), "GroupPos"
    seen += len(at)
counts = numpy.unique(label[label < len(label)], return_counts=True)[1]
assert (counts >= smallest).sum() == n and seen == len(set(ids)), "all groups"
if cat["Parameters"].attrs["LinkingLength"] == 0:
    x = p["Coordinates"][link].astype(float)
    centre = numpy.sort(x, axis=0)[(len(x) - 1) // 2]
    half = (len(x) + 1) // 2
    r = numpy.sort(numpy.sqrt(((x - centre) ** 2).sum(1)))[half - 1]
    assert abs(head["LinkingLength"] / (r * (4 * numpy.pi / 3 / half) ** (1 / 3)) - 1) < 1e-12, "rule"
print("#", n, "groups of", len(ids), "particles")
END_OF_PYTHON
cat > make.py << 'END_OF_PYTHON'
import h5py
import numpy
r = numpy.random.default_rng(1)
with h5py.File("types_007.hdf5", "w") as f:
    h, counts = f.create_group("Header"), [0, 400, 0, 0, 300, 1]
    h.attrs["NumPart_ThisFile"] = h.attrs["NumPart_Total"] = numpy.array(counts, "u4")
    h.attrs["MassTable"] = numpy.zeros(6)
    h.attrs["Time"], h.attrs["NumFilesPerSnapshot"] = 3.5, 1
    first = 1
    for t, n in enumerate(counts):
        if n:
            g = f.create_group(f"PartType{t}")
            g["Coordinates"] = (r.normal(size=(n, 3)) * 0.1 + r.integers(0, 3, size=(n, 1))).astype("f4")
            g["Velocities"], g["Masses"] = r.normal(size=(n, 3)).astype("f4"), r.random(n).astype("f4")
            g["ParticleIDs"] = (first + r.permutation(n)).astype("u4")
            first += n
END_OF_PYTHON
fields() {
  text=$1
  shift
  if [ -n "$python" ]; then
    (cd "$dir" && "$python" fields.py "$@") > "$dir/said" 2> "$dir/err"
    ok $? "$text $(cat said)"
  else
    echo "# SKIP $text: no python3 with h5py and numpy"
  fi
}
fields "fields of a run's catalogue:" straight/out/snapshot_004.hdf5 straight/out/fof_004.hdf5 0,1,2,3,4,5
if [ -n "$python" ]; then
  (cd "$dir" && "$python" make.py)
  groups 3 --link-types 1 --linking-length 0.06 --min-size 5 types_007.hdf5
  ok $? "a file of several types, without potentials"
  fields "... its fields, one type links:" types_007.hdf5 fof_007.hdf5 1
  groups 2 --link-types 4,5 --min-size 5 --overwrite types_007.hdf5
  fields "... two types link, the length by rule:" types_007.hdf5 fof_007.hdf5 4,5
  (cd "$dir" && "$python" -c 'import h5py; h5py.File("snapshot_003.hdf5", "r+")["PartType1/Potential"][7] *= 2')
  groups 2 --overwrite snapshot_003.hdf5
  [ $? = 1 ] && has err 'snapshot_003.hdf5: the values of /PartType1/Potential differ from those that were written (checksum)'
  ok $? "a snapshot with a damaged potential is refused"
fi

# --- a catalogue that cannot be written; removal ---
go blocked 2 -n 3 "$@"
mkdir blocked/out/fof_003.hdf5
go blocked 2 -r "$@"
ends 0 && [ "$(grep -c 'warning: the run continues without this catalogue, .*: catalogue out/fof_003.hdf5: something of this name exists' blocked/err)" = 1 ] &&
  [ -f blocked/out/fof_004.hdf5 ] && [ ! -e blocked/out/fof_003.hdf5.tmp ]
ok $? "a catalogue that cannot be written: a warning, and the run goes on"
go later 1 -n 3 "$@"
go later 1 -n 7 -r "$@"
cp later/out/fof_002.hdf5 kept.hdf5
go later 1 -n 4 -r 3 "$@"
ends 0 && find later/out/discarded -name 'fof_003.hdf5' | grep -q . && [ ! -e later/out/fof_003.hdf5 ] && cmp kept.hdf5 later/out/fof_002.hdf5
ok $? "snapshots that a restart moves away: their catalogues go with them"
go later 1 --overwrite -n 1
ends 0 && [ "$(catalogues later)" = "" ]
ok $? "--overwrite removes catalogues with their snapshots"

# --- bad input ---
# refuses TEXT PARAMETER: status 1, this text, nothing written
refuses() {
  go bad 1 -P Output:Groups=on -P "$2"
  ends 1 "$1" && [ ! -e bad/out ]
  ok $? "$2 is refused"
}
refuses "GroupLinkTypes = 1;2 (-P): expected all, or types from 0 to 5 with commas between them" 'Output:GroupLinkTypes=1;2'
refuses "GroupLinkTypes = 6 (-P): expected all" Output:GroupLinkTypes=6
refuses "LinkingLength.*expected.*found '-1'" Output:LinkingLength=-1
refuses "GroupMinSize.*expected.*found '0'" Output:GroupMinSize=0
refuses "Groups.*expected.*found 'yes'" Output:Groups=yes
refuses "SnapshotFileBase = fof (-P) and Groups = on (-P): expected another name" Output:SnapshotFileBase=fof
# misuse STATUS TEXT ARGUMENT...: this status and text
misuse() {
  wanted=$1 text=$2
  shift 2
  (cd "$dir" && timeout 60 espalier groups "$@") > "$dir/said" 2> "$dir/err" < /dev/null
  [ $? = "$wanted" ] && has err "$text"
  ok $? "groups $*: $text"
}
shown="said err"
misuse 2 'a snapshot is missing'
misuse 2 "option --min-size: expected a whole number of particles from 1 to 1e9, found '0'" --min-size 0 chains.txt
misuse 2 "option --linking-length: expected a length from 0 (by rule) to 1e+150, found '-1'" --linking-length -1 chains.txt
misuse 2 "option --link-types: expected all, or types from 0 to 5 with commas between them, found '1,'" --link-types 1, chains.txt
misuse 2 'option -o: only with one snapshot, found 2' -o x.hdf5 chains.txt chains.txt
misuse 1 'absent.hdf5: No such file or directory' absent.hdf5
misuse 1 'fof_chains.txt.hdf5: already exists; give another name with -o, or --overwrite' chains.txt
misuse 1 'chains.txt: is the input; give another name' -o chains.txt --overwrite chains.txt
misuse 1 'parts: expected a file name, found a folder' -o parts --overwrite chains.txt
misuse 1 'catalogue nowhere/x.hdf5: nowhere: No such file or directory' -o nowhere/x.hdf5 chains.txt
misuse 1 'fof_004.hdf5: /Header has no attribute NumPart_ThisFile' -o x.hdf5 fof_004.hdf5
printf '1e200 0 0 0 0 0 1\n0 0 0 0 0 0 1\n' > far.txt
misuse 1 'far.txt: the particle with id 1 has a coordinate or velocity above 1e+150' far.txt
finish
