# SPDX-License-Identifier: GPL-3.0-or-later
"""judge.py NAME ARGUMENT...: what scripts ask of files with Python; exit status 0 where the answer is yes."""
import csv
import sys

import h5py
import numpy as np


def particles(name, *fields):
    """Arrays of the particles of type 1, by identity."""
    with h5py.File(name) as file:
        group = file["PartType1"]
        order = np.argsort(group["ParticleIDs"][:])
        return [group[field][:][order] for field in fields]


def size(vectors):
    return np.sqrt((vectors ** 2).sum(1))


def same(one, other):
    """The same bits: all datasets, and all attributes of /Header."""
    def datasets(file):
        found = {}
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
        return found

    with h5py.File(one) as first, h5py.File(other) as second:
        a, b = datasets(first), datasets(second)
        differ = sorted(a.keys() ^ b.keys())
        differ += [name for name in a.keys() & b.keys() if a[name].dtype != b[name].dtype or a[name].tobytes()
                   != b[name].tobytes()]
        x, y = (dict(file["Header"].attrs) for file in (first, second))
        differ += [f"Header/{name}" for name in x if str(x[name]) != str(y.get(name))]
    if differ:
        print(f"# {other} differs from {one} in {', '.join(differ)}")
    return len(a) > 3 and not differ


def near(one, other):
    """The same particles at nearly the same places: an error of 1e-3 of the acceleration (about 1) over a time of 1/8
    is 1e-4 in velocity and 1e-5 in position; close pairs have more."""
    a, b = (particles(name, "ParticleIDs", "Coordinates", "Velocities", "Potential") for name in (one, other))
    distance, speed, potential = size(a[1] - b[1]), size(a[2] - b[2]), abs(a[3] / b[3] - 1)
    print(f"# positions: median {np.median(distance):.1e}, most {distance.max():.1e}; velocities: median "
          f"{np.median(speed):.1e}, most {speed.max():.1e}; potentials: most {potential.max():.1e}")
    return ((a[0] == b[0]).all() and np.median(distance) < 2e-5 and distance.max() < 1e-3 and np.median(speed) < 2e-4
            and speed.max() < 2e-2 and potential.max() < 1e-2)


def energies(one, other, limit):
    """As many rows of two tables, the total energies of which differ by less than the limit, and some do."""
    tables = [np.genfromtxt([line for line in open(name) if line[0] != "#"], delimiter=",", names=True)["total"]
              for name in (one, other)]
    worst = abs(tables[0] / tables[1] - 1).max() if len(tables[0]) == len(tables[1]) else np.inf
    print(f"# energies differ by at most {worst:.1e}")
    return worst < float(limit)


def binaries_apart(one, *others):
    """Particles at the same places, but for members of binaries, which have other phases."""
    first, = particles(one, "Coordinates")
    for name in others:
        apart = abs(particles(name, "Coordinates")[0] - first).max(axis=1)
        print("#", name, np.median(apart), np.sort(apart)[-8:])
        if not (np.median(apart) < 1e-6 and (apart > 1e-4).sum() <= 8):
            return False
    return True


def parameters(name, *pairs):
    """NAME VALUE...: these values are among the parameters of a snapshot."""
    with h5py.File(name) as file:
        return all(float(file["Parameters"].attrs[key]) == float(value) for key, value in zip(pairs[::2], pairs[1::2]))


def massless(alone, both):
    """1024 particles move as they do alone; of as many without mass the first 512 move with those at whose places they
    are."""
    (x, v), (y, w) = (particles(name, "Coordinates", "Velocities") for name in (alone, both))

    def off(a, b):
        return np.median(abs(a - b).max(axis=1))
    moved = off(x, y[:1024]), off(v, w[:1024])
    apart = off(y[:512], y[1024:1536]), off(w[:512], w[1024:1536])
    print("# with mass: %.1e %.1e; without, at their places: %.1e %.1e" % (moved + apart))
    return len(y) == 2048 and max(moved) < 1e-5 and max(apart) < 1e-5 and np.isfinite(y).all() and np.isfinite(w).all()


def same_systems(table, other, happened, others, until=np.inf, limit=1e-9):
    """The same systems and events in tables of a run and of espalier-plot binaries, or of two runs, up to a time."""
    def rows(name, column):
        with open(name) as file:
            found = list(csv.DictReader(line for line in file if line[0] != "#"))
        return [row for row in found if float(row[column]) <= float(until)]

    whole = ("first", "second", "inner_first", "inner_second", "stars")
    worst, a, b = 0, rows(table, "time"), rows(other, "time")
    for x, y in zip(a, b):
        if any(x[name] != y[name] for name in whole) or float(x["time"]) != float(y["time"]):
            print(f"# {x}\n# {y}")
            return False
        for name in set(y) - {"time", "tide", *whole}:
            place = name in ("e", "x", "y", "z", "vx", "vy", "vz")
            worst = max(worst, abs(float(x[name]) - float(y[name])) / (1 if place else abs(float(y[name]))))
    names = ("event", "first", "second", "former_first", "former_second")
    said = [[(float(row["after"]), float(row["until"]), *(row[name] for name in names)) for row in rows(name, "until")
             if row["event"] != "escaped"] for name in (happened, others)]
    print(f"# {len(a)} and {len(b)} rows that differ by at most {worst:.1e}, {len(said[0])} and {len(said[1])} events")
    return len(a) == len(b) > 0 and worst < float(limit) and said[0] == said[1]


def phases(folder, most, mass):
    """Circular orbits about particle 0 in a force softened by 0.02: their phases after ten orbits of the run."""
    (a,), (b,) = (particles(f"{folder}/snapshot_00{k}.hdf5", "Coordinates") for k in (0, 1))
    begin, end = (h5py.File(f"{folder}/snapshot_00{k}.hdf5")["Header"].attrs["Time"] for k in (0, 1))
    a, b = a[1:] - a[0], b[1:] - b[0]
    rate = np.sqrt(float(mass) / ((a ** 2).sum(1) + 0.02 ** 2) ** 1.5)
    angle = np.arctan2(b[:, 1], b[:, 0]) - np.arctan2(a[:, 1], a[:, 0]) - rate * (end - begin)
    error = abs((angle + np.pi) % (2 * np.pi) - np.pi) / (rate * (end - begin) / 20 / np.pi)
    print("# phases after ten orbits: off by up to", error.max())
    return error.max() < float(most)


def kept(log, table, snapshot):
    """The errors that a run prints are those of its table: momentum by sum m|v|, angular momentum by sum m|r x v|,
    whose last
    sums are those of the snapshot."""
    table = np.array([[float(x) for x in line.split(",")] for line in open(table) if line[0] not in "#t"])
    with h5py.File(snapshot) as f:
        x, v = f["PartType1/Coordinates"][:], f["PartType1/Velocities"][:]
        m = (f["PartType1/Masses"][:] if "Masses" in f["PartType1"]
             else np.full(len(x), f["Header"].attrs["MassTable"][1]))
    x, v = x - np.average(x, axis=0, weights=m), v - np.average(v, axis=0, weights=m)
    last = (m * size(v)).sum(), (m * size(np.cross(x, v))).sum()
    scale = table[:, 28:30].max(axis=0)
    change = [size(table[:, k:k + 3] - table[0, k:k + 3]) for k in (4, 7)]
    expected = [(change[0] + abs(table[:, 25])).max() / scale[0], change[1].max() / scale[1]]
    words = [line for line in open(log) if line.startswith("kept:")][0].replace(",", "").split()
    print("#", words, expected)
    energy = max(abs(table[:, 3] / table[0, 3] - 1))
    return (np.allclose(table[-1, 28:30], last, rtol=1e-5)
            and np.allclose([float(words[6]), float(words[12])], expected, rtol=0.06)
            and abs(float(words[3]) / energy - 1) < 0.06)


def softening_classes(name):
    at = h5py.File(name)["Parameters"].attrs
    own = [float(at[f"SofteningComovingClass{at[f'SofteningClassOfPartType{t}']}"]) for t in (1, 2)]
    print("#", own, at["SofteningType1"], at["Softening"])
    return (own == [0.08, 0.01] and at["SofteningType1"] == 0.08 and at["Softening"] == 0.01
            and "SofteningMaxPhysClass1" in at)


def states(name, expression):
    """An expression of the attributes u of /Units, p of /Parameters, h of /Header, and the open file f."""
    with h5py.File(name) as f:
        u, p, h = (dict(f[group].attrs) for group in ("Units", "Parameters", "Header"))
        print("#", u)
        return eval(expression, {"f": f, "u": u, "p": p, "h": h, "same": lambda a, b: abs(a / b - 1) < 1e-6})


def friends(x, link, length):
    """Components by spreading the smallest index; others get that of the nearest linking particle."""
    distance = ((x[:, None] - x[None]) ** 2).sum(2)
    n = len(x)
    label = np.where(link, np.arange(n), n)
    adjacent = (distance <= length ** 2) & link[:, None] & link[None]
    while True:
        new = np.where(link, np.where(adjacent, label[None], n).min(1), n)
        if (new == label).all():
            break
        label = new
    distance[:, ~link] = np.inf
    nearest = distance.argmin(1)
    return np.where(link, label, np.where(distance.min(1) <= length ** 2, label[nearest], n))


def all_types(file):
    out = {}
    for t in range(6):
        group = file.get(f"PartType{t}", {})
        for key in group:
            out.setdefault(key, []).append(group[key][...])
        if group:
            out.setdefault("type", []).append(np.full(len(group["ParticleIDs"]), t))
    return {key: np.concatenate(value) for key, value in out.items()}


def catalogue(snapshot, groups, types):
    """A catalogue of friends-of-friends groups has the groups of a snapshot, found by brute force, and their sums."""
    snap, cat = h5py.File(snapshot), h5py.File(groups)
    p, g, head, ids = all_types(snap), {k: v[...]
                                        for k, v in cat["Group"].items()}, cat["Header"].attrs, cat["IDs/ID"][...]
    n, smallest = len(g["GroupLen"]), int(cat["Parameters"].attrs["GroupMinSize"])
    assert head["Ngroups_Total"] == head["Ngroups_ThisFile"] == n > 0, "Ngroups"
    assert head["Nids_Total"] == head["Nids_ThisFile"] == len(ids) == g["GroupLen"].sum(), "sum of GroupLen = ids"
    assert head["Time"] == snap["Header"].attrs["Time"] and head["NumFiles"] == 1, "Header"
    assert (np.diff(g["GroupLen"].astype(int)) <= 0).all() and g["GroupLen"].min() >= smallest, "order"
    assert (g["GroupLenType"].sum(1) == g["GroupLen"]).all(), "GroupLenType"
    assert (g["GroupOffset"] == np.concatenate([[0], g["GroupLen"].cumsum()[:-1]])).all(), "GroupOffset"
    assert np.allclose(g["GroupMassType"].sum(1), g["GroupMass"], rtol=1e-14), "GroupMassType"
    link, order = np.isin(p["type"], [int(t) for t in types.split(",")]), np.argsort(p["ParticleIDs"])
    label = friends(p["Coordinates"].astype(float), link, head["LinkingLength"])
    seen = 0
    for k in range(n):
        mine = ids[int(g["GroupOffset"][k]):int(g["GroupOffset"][k] + g["GroupLen"][k])]
        at = order[np.searchsorted(p["ParticleIDs"], mine, sorter=order)]
        assert (p["ParticleIDs"][at] == mine).all(), "ids"
        assert len(set(label[at])) == 1 and (label == label[at[0]]).sum() == len(at), "members"
        assert g["GroupLabel"][k] == p["ParticleIDs"][at[link[at]]].min(), "GroupLabel"
        m, kind = p["Masses"][at].astype(float), p["type"][at]
        masses = [m[kind == t].sum() for t in range(6)]
        assert all(b == 0 or abs(a / b - 1) < 1e-12 for a, b in zip(g["GroupMassType"][k], masses)), "mass"
        assert all(g["GroupLenType"][k][t] == (kind == t).sum() for t in range(6)), "types"
        for name, of in (("GroupCM", "Coordinates"), ("GroupVel", "Velocities")):
            assert np.allclose(g[name][k], (m[:, None] * p[of][at]).sum(0) / m.sum(), rtol=1e-12, atol=1e-12), name
        lowest = p["Coordinates"][at[p["Potential"][at].argmin()]] if "Potential" in p else g["GroupCM"][k]
        assert (g["GroupPos"][k] == lowest).all(), "GroupPos"
        seen += len(at)
    counts = np.unique(label[label < len(label)], return_counts=True)[1]
    assert (counts >= smallest).sum() == n and seen == len(set(ids)), "all groups"
    if cat["Parameters"].attrs["LinkingLength"] == 0:
        x = p["Coordinates"][link].astype(float)
        half = (len(x) + 1) // 2
        r = np.sort(size(x - np.sort(x, axis=0)[(len(x) - 1) // 2]))[half - 1]
        assert abs(head["LinkingLength"] / (r * (4 * np.pi / 3 / half) ** (1 / 3)) - 1) < 1e-12, "rule"
    print("#", n, "groups of", len(ids), "particles")
    return True


def make_types(path):
    """A snapshot of three types without potentials."""
    r = np.random.default_rng(1)
    counts, first = [0, 400, 0, 0, 300, 1], 1
    with h5py.File(path, "w") as file:
        head = file.create_group("Header").attrs
        head["NumPart_ThisFile"] = head["NumPart_Total"] = np.array(counts, "u4")
        head["MassTable"], head["Time"], head["NumFilesPerSnapshot"] = np.zeros(6), 3.5, 1
        for t, n in enumerate(counts):
            if n:
                g = file.create_group(f"PartType{t}")
                g["Coordinates"] = (r.normal(size=(n, 3)) * 0.1 + r.integers(0, 3, size=(n, 1))).astype("f4")
                g["Velocities"], g["Masses"] = r.normal(size=(n, 3)).astype("f4"), r.random(n).astype("f4")
                g["ParticleIDs"] = (first + r.permutation(n)).astype("u4")
                first += n
    return True


def make_points(text, path):
    """Points of a text file as datasets, and datasets that are no points."""
    x = np.loadtxt(text)
    y = x.copy()
    y[16, 1] = np.nan
    with h5py.File(path, "w") as f:
        f["Coordinates"], f["a/b"], f["flat"], f["nan"], f["none"] = x, x.astype("f4"), x[:, 0], y, x[:0]
        f["text"] = np.array([[b"a", b"b", b"c"]])
        f.create_dataset("hole", (10, 3), "f8", chunks=(5, 3))
    return True


def forces(table, exact, tree):
    """The forces of a CSV table in a file of direct sums, and nearly in one of the tree's."""
    table = np.loadtxt(table, delimiter=",", skiprows=2)
    f, g = h5py.File(exact), h5py.File(tree)
    off = size(g["Acceleration"][:] - table[:, 3:6]) / size(table[:, 3:6])
    return (np.array_equal(f["Coordinates"][:], table[:, :3]) and abs(f["Acceleration"][:] - table[:, 3:6]).max()
            < 1e-14
            and abs(f["Potential"][:] - table[:, 6]).max() < 1e-14 and f.attrs["Time"] == 0 and np.median(off) < 1e-4)


sys.exit(not globals()[sys.argv[1]](*sys.argv[2:]))
