#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""plots_galaxy.py make FOLDER MODEL.hdf5: snapshots of galaxies for tests/plots_galaxy.sh. known_000, known_001: a bar
of known A_2, rotation, dispersions and Q without noise, tilted and in motion; model_000, model_001: particles of
'espalier ic galaxy', whose disc gets a bar; sphere_000: without rotation.
plots_galaxy.py judge FOLDER: the tables of espalier-plot disc and modes against formulas and against a script of its
own, which shares no code with them and sums forces directly; prints TAP.
plots_galaxy.py same TABLE.csv TABLE.csv: two tables of discs are alike; else exit status 1.
plots_galaxy.py moved MODEL.hdf5 SNAPSHOT: a model at PLACE and in motion; plots_galaxy.py centre WORDS LARGEST: the
centre that espalier-plot told is nearer to it than this; else exit status 1.
plots_galaxy.py turned TOOLS SNAPSHOT: a disc is flat in maps that are turned face-on; else exit status 1."""
import csv
import re
import sys

import h5py
import numpy as np

G = 43007.1   # kpc, km/s, 10^10 solar masses
HALO, CORE, DISC, LENGTH, HEIGHT, STRETCH, TURN, STEP = 60.0, 6.0, 0.02, 3.0, 0.3, 0.6, 30.0, 0.02
SOFT = 0.1, 0.4   # of the known disc and of the model, whose forces few points of a circle sample
GOLDEN = (np.sqrt(5) - 1) / 2


def tilt():
    """A rotation by which nothing is along an axis."""
    a, b = 0.9, 0.5
    return (np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
            @ np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]]))


def write(path, time, parts, softening=SOFT[0]):
    """parts: {type: (pos, vel, mass)}, tilted, shifted and moving."""
    turn, count = tilt(), [len(parts[kind][2]) if kind in parts else 0 for kind in range(6)]
    with h5py.File(path, "w") as file:
        header = file.create_group("Header").attrs
        header.update(NumPart_ThisFile=count, NumPart_Total=count, MassTable=np.zeros(6), Time=time,
                      NumFilesPerSnapshot=1)
        file.create_group("Units").attrs.update(UnitLength_in_cm=3.085678e21, UnitMass_in_g=1.98841e43,
                                                UnitVelocity_in_cm_per_s=1e5)
        file.create_group("Parameters").attrs.update(GravityConstantInternal=G, Softening=softening)
        for kind, (pos, vel, mass) in parts.items():
            group = file.create_group(f"PartType{kind}")
            motion = np.array([12.0, -30.0, 7.0])
            group["Coordinates"] = pos @ turn.T + [50, -20, 5] + motion * time
            group["Velocities"] = vel @ turn.T + motion
            group["Masses"], group["ParticleIDs"] = mass, np.arange(len(mass), dtype="u8") + 1000000 * kind


def sphere(count, size, mass):
    """A Plummer sphere without noise: radii of equal mass, directions of a spiral."""
    part = (np.arange(count) + 0.5) / count
    radius = np.minimum(size / np.sqrt(part ** (-2 / 3) - 1), 30 * size)
    z = 1 - 2 * ((np.arange(count) * GOLDEN) % 1)
    angle = 2 * np.pi * ((np.arange(count) * np.sqrt(2)) % 1)
    flat = np.sqrt(1 - z * z)
    pos = radius[:, None] * np.stack([flat * np.cos(angle), flat * np.sin(angle), z], axis=1)
    return pos, np.zeros_like(pos), np.full(count, mass / count)


def sigma(radius):
    """sigma_R of the known disc, 1.5 sigma_phi and 2 sigma_z."""
    return 60 * np.exp(-radius / 8)


def known_disc(count, angle):
    """An exponential disc whose density has a factor 1 + STRETCH cos 2 (phi - angle), so A_2 = STRETCH / 2, and which
    turns by TURN; four particles at each place have the dispersions, heights are those of sech^2."""
    part = (np.arange(count) + 0.5) / count
    x = np.interp(part, 1 - (1 + (grid := np.linspace(0, 12, 4000))) * np.exp(-grid), grid)
    radius = LENGTH * x
    fine = np.linspace(0, 2 * np.pi, 4000)
    held = (fine + STRETCH / 2 * np.sin(2 * fine)) / (2 * np.pi)
    phi = np.interp((np.arange(count) * GOLDEN) % 1, held, fine) + angle
    z = HEIGHT * np.arctanh(2 * ((np.arange(count) * np.sqrt(3)) % 1) * 0.9999 - 0.9999)
    pos, vel = [], []
    for a, b, c in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)):
        out, along = a * sigma(radius), TURN * radius + b * sigma(radius) / 1.5
        pos.append(np.stack([radius * np.cos(phi), radius * np.sin(phi), a * z], axis=1))
        vel.append(np.stack([out * np.cos(phi) - along * np.sin(phi), out * np.sin(phi) + along * np.cos(phi),
                             c * sigma(radius) / 2], axis=1))
    return np.concatenate(pos), np.concatenate(vel), np.full(4 * count, DISC / (4 * count))


def barred(pos, vel, mass, angle):
    """A disc of random particles with a bar, turned by an angle."""
    phi, radius = np.arctan2(pos[:, 1], pos[:, 0]), np.hypot(pos[:, 0], pos[:, 1])
    shift = angle - STRETCH / 2 * np.sin(2 * phi)
    c, s = np.cos(shift), np.sin(shift)
    return (np.stack([radius * np.cos(phi + shift), radius * np.sin(phi + shift), pos[:, 2]], axis=1),
            np.stack([c * vel[:, 0] - s * vel[:, 1], s * vel[:, 0] + c * vel[:, 1], vel[:, 2]], axis=1), mass)


def formats(folder, name):
    """The particles of a snapshot in GADGET's formats 1 (big endian) and 2, and in TIPSY."""
    with h5py.File(f"{folder}/{name}.hdf5", "r") as file:
        parts = {kind: [file[f"PartType{kind}"][what][()] for what in ("Coordinates", "Velocities", "ParticleIDs",
                                                                       "Masses")] for kind in (1, 2)}
        time = file["Header"].attrs["Time"]
    pos, vel, ids, mass = (np.concatenate(column) for column in zip(*parts.values()))
    count = [0, len(parts[1][3]), len(parts[2][3]), 0, 0, 0]
    for path, order, labels in (("gadget1", ">", False), ("gadget2", "<", True)):
        def record(block):
            size = np.array([len(block)], order + "i4").tobytes()
            return size + block + size
        head = (np.array(count, order + "i4").tobytes() + np.array([0.0] * 6 + [time, 0.0], order + "f8").tobytes()
                + bytes(8) + np.array(count + [0, 1], order + "i4").tobytes()).ljust(256, b"\0")
        blocks = (("HEAD", head), ("POS ", pos.astype(order + "f4").tobytes()),
                  ("VEL ", vel.astype(order + "f4").tobytes()), ("ID  ", ids.astype(order + "u4").tobytes()),
                  ("MASS", mass.astype(order + "f4").tobytes()))
        with open(f"{folder}/{path}", "wb") as file:
            for label, block in blocks:
                if labels:
                    file.write(record(label.encode() + np.array([len(block) + 8], order + "i4").tobytes()))
                file.write(record(block))
    halo, disc = (np.column_stack([part[3], part[0], part[1]]).astype(">f4") for part in parts.values())
    with open(f"{folder}/tipsy", "wb") as file:   # the disc as stars, which are of type 4
        file.write(np.array([time], ">f8").tobytes() + np.array([sum(count), 3, 0, count[1], count[2], 0],
                                                                ">i4").tobytes())
        file.write(np.column_stack([halo, np.zeros((count[1], 2), ">f4")]).astype(">f4").tobytes())
        file.write(np.column_stack([disc, np.zeros((count[2], 4), ">f4")]).astype(">f4").tobytes())


def make(folder, model):
    with h5py.File(model, "r") as file:
        given = {kind: tuple(file[f"PartType{kind}"][name][()].astype(float)
                             for name in ("Coordinates", "Velocities", "Masses")) for kind in (1, 2)}
    halo = sphere(24000, CORE, HALO)
    for k in range(2):
        angle = 0.2 + TURN * STEP * k
        write(f"{folder}/known_{k:03}.hdf5", 0.5 + STEP * k, {1: halo, 2: known_disc(6000, angle)})
        write(f"{folder}/model_{k:03}.hdf5", 0.5 + STEP * k, {1: given[1], 2: barred(*given[2], angle)}, SOFT[1])
    formats(folder, "model_000")
    hot = np.random.default_rng(3).normal(0, 100, halo[0].shape)
    write(f"{folder}/sphere_000.hdf5", 0.0, {1: (halo[0], hot, halo[2]), 3: tuple(x[:10] for x in halo)})
    for name, left_out in (("units", "Units"), ("still", None)):
        write(f"{folder}/{name}_000.hdf5", 0.0, {2: known_disc(300, 0.0)})
        with h5py.File(f"{folder}/{name}_000.hdf5", "a") as file:
            del file[left_out or "PartType2/Velocities"]
            if left_out:
                del file["Parameters"]


PLACE = -70.03, 30.02, 11.01


def moved(model, path):
    with h5py.File(model, "r") as source, h5py.File(path, "w") as file:
        for name in source:
            source.copy(name, file)
        for group in (file[name] for name in file if name.startswith("PartType")):
            for name, shift in (("Coordinates", PLACE), ("Velocities", (20.0, -5.0, 3.0))):
                values = group[name][()].astype(float) + shift
                del group[name]
                group[name] = values


def centre(words, largest):
    with open(words, encoding="utf-8") as file:
        found = re.search(r"centre ([^ ]+), ([^ ]+), ([^ ]+)", file.read())
    off = float(np.linalg.norm(np.array(found.groups(), dtype=float) - PLACE))
    print(f"the centre is {off:.3f} off")
    sys.exit(not off < float(largest))


# --- the script of its own
def bottom(x, m):
    """The place of the deepest well of the disc, softened by what holds a tenth of it: by trials around the best."""
    middle, step = np.median(x, axis=0), 1.0
    tries = np.array([(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)])
    while step > 1e-3:
        soft = np.sort(((x - middle) ** 2).sum(axis=1))[len(x) // 10]
        places = middle + step * tries
        best = places[np.argmax([(m / np.sqrt(((x - place) ** 2).sum(axis=1) + soft)).sum() for place in places])]
        middle, step = best, step if (best != middle).any() else step / 2
    return middle


def own(path, within, edges, with_rings):
    """A_m, phase of m = 2 within a radius, and rings (R, surface density, v_phi, sigma_R, v_c, kappa, Q)."""
    with h5py.File(path, "r") as file:
        parts = {kind: [file[f"PartType{kind}"][name][()] for name in ("Coordinates", "Velocities", "Masses")]
                 for kind in (1, 2)}
    x, v, m = parts[2]
    middle = bottom(x, m)
    near = np.argsort(np.linalg.norm(x - middle, axis=1))[:len(x) // 2]
    motion = np.average(v[near], 0, m[near])
    spin = (m[:, None] * np.cross(x - middle, v - motion)).sum(0)
    e3 = spin / np.linalg.norm(spin)
    e1 = np.array([1.0, 0, 0]) - e3[0] * e3
    e1 /= np.linalg.norm(e1)
    base = np.array([e1, np.cross(e3, e1), e3])
    x, v = (x - middle) @ base.T, (v - motion) @ base.T
    ring, phi = np.hypot(x[:, 0], x[:, 1]), np.arctan2(x[:, 1], x[:, 0])
    inner = ring < within
    cosines = [np.hypot((m * np.cos(k * phi))[inner].sum(), (m * np.sin(k * phi))[inner].sum()) / m[inner].sum()
               for k in range(1, 7)]
    phase = 0.5 * np.arctan2((m * np.sin(2 * phi))[inner].sum(), (m * np.cos(2 * phi))[inner].sum())
    out, along = v[:, 0] * np.cos(phi) + v[:, 1] * np.sin(phi), v[:, 1] * np.cos(phi) - v[:, 0] * np.sin(phi)
    if not with_rings:
        return cosines, phase, None
    sources = np.concatenate([(parts[kind][0] - middle) @ base.T for kind in (1, 2)])
    masses = np.concatenate([parts[kind][2] for kind in (1, 2)])

    def squared(radius):
        total, angles = 0.0, np.linspace(0, 2 * np.pi, 48, endpoint=False)
        for a in angles:
            d = sources - radius * np.array([np.cos(a), np.sin(a), 0])
            total -= radius * G * (masses * (d[:, 0] * np.cos(a) + d[:, 1] * np.sin(a))
                                   / ((d**2).sum(1) + SOFT[1]**2) ** 1.5).sum()
        return total / len(angles)

    radii = np.geomspace(edges[1] / 4, edges[-1] * 1.6, 44)
    curve = np.array([squared(radius) for radius in radii])
    rows = []
    for a, b in zip(edges[:-1], edges[1:]):
        here = (ring >= a) & (ring < b)
        if here.sum() < 20:
            continue
        weight = m[here] / m[here].sum()
        radius = (weight * ring[here]).sum()
        drift = (weight * out[here]).sum()
        spread = np.sqrt((weight * (out[here] - drift) ** 2).sum())
        near = (np.abs(np.log(radii / radius)) < np.log(1.52)) & (curve > 0)
        slope = np.polyfit(np.log(radii[near] / radius), np.log(curve[near]), 2)
        speed2 = squared(radius)
        kappa = np.sqrt((2 + slope[1]) * speed2) / radius
        density = m[here].sum() / np.pi / (b * b - a * a)
        rows.append((radius, density, (weight * along[here]).sum(), spread, np.sqrt(speed2), kappa,
                     kappa * spread / (3.36 * G * density)))
    return cosines, phase, np.array(rows).T


def table(path):
    """Columns of a table; empty values are nan."""
    with open(path, encoding="utf-8") as file:
        text = file.readlines()
    if "format" not in path and not text[0].startswith("# UnitLength_in_cm = 3.08"):
        sys.exit(f"{path} states no units")
    rows = list(csv.DictReader(line for line in text if not line.startswith("#")))
    return {name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}


def same(one, two):
    """Two tables of discs have the same numbers, whatever the disc's type is; else exit status 1."""
    first, second = table(one), table(two)
    off = max(worst(second[name], first[name]) for name in ("R", "v_phi", "sigma_R", "Q"))
    print(f"{two}: {off}")
    sys.exit(not off < 1e-3)


number = failed = 0


def ok(good, text, told=""):
    global number, failed
    number, failed = number + 1, failed + (not good)
    print(("ok" if good else "not ok") + f" {number} - {text}" + ("" if good else f"\n# {told}"))


def worst(found, expected):
    return float(np.max(np.abs(found / expected - 1)))


def judge_formulas(folder):
    """The disc without noise."""
    disc, modes = table(f"{folder}/known_disc.csv"), table(f"{folder}/known_modes.csv")
    rows = (disc["time"] == disc["time"].min()) & (disc["type"] == 2) & (disc["R"] > 1) & (disc["R"] < 9)
    radius, edges = disc["R"][rows], np.linspace(0, 12, 13)[1:rows.sum() + 2]
    inside = DISC * (1 - (1 + edges / LENGTH) * np.exp(-edges / LENGTH))
    density = np.diff(inside) / np.pi / np.diff(edges**2)
    speed = np.sqrt(G * HALO * radius**2 / (radius**2 + CORE**2) ** 1.5)
    slope = 1 - 1.5 * radius**2 / (radius**2 + CORE**2)
    kappa = speed / radius * np.sqrt(2 * (1 + slope))
    for name, expected in (("surface_density", density), ("v_phi", TURN * radius), ("sigma_R", sigma(radius)),
                           ("sigma_z", sigma(radius) / 2), ("v_c", speed), ("kappa", kappa),
                           ("Q", kappa * sigma(radius) / (3.36 * G * density))):
        error = worst(disc[name][rows], expected)
        ok(error < 0.01, f"{name} of a known disc: {100 * error:.2f} %", f"{disc[name][rows]} {expected}")
    error = worst(disc["height"][rows], HEIGHT)
    ok(error < 0.03, f"scale height of sech^2: {100 * error:.2f} %", str(disc["height"][rows]))
    whole = np.isfinite(modes["within"])
    strength, since = modes["A_2"][whole], modes["speed_since_before"][whole][1:]
    others = max(modes[f"A_{m}"][whole].max() for m in (1, 3, 5))
    ok(worst(strength, STRETCH / 2) < 0.01 and others < 0.01, f"A_2 of a known bar: {strength}, others {others:.2g}")
    ok(worst(since, TURN) < 0.01, f"its pattern speed by phases: {since}")
    ok(worst(modes["speed_velocities"][whole], TURN) < 0.01,
       f"its pattern speed by velocities: {modes['speed_velocities'][whole]}")
    rings = ~whole & (modes["R"] > 2) & (modes["R"] < 9)
    ok(worst(modes["A_2"][rings], STRETCH / 2) < 0.03, "A_2 by ring", str(modes["A_2"][rings]))


def judge_model(folder):
    """Particles of a model, against the script above."""
    disc, modes = table(f"{folder}/model_disc.csv"), table(f"{folder}/model_modes.csv")
    found = [own(f"{folder}/model_{k:03}.hdf5", 4.0, np.linspace(0, 12, 13), k == 0) for k in range(2)]
    whole = np.isfinite(modes["within"])
    for k, (strengths, _, _) in enumerate(found):
        error = abs(modes["A_2"][whole][k] / strengths[1] - 1)
        ok(error < 0.01, f"A_2 against another script: {modes['A_2'][whole][k]:.4f} {strengths[1]:.4f}")
        error = max(abs(modes[f"A_{m}"][whole][k] - strengths[m - 1]) for m in range(1, 7))
        ok(error < 0.005, f"all modes: largest difference {error:.2g}")
    turn = (found[1][1] - found[0][1] + np.pi / 2) % np.pi - np.pi / 2
    since = modes["speed_since_before"][whole][1]
    ok(abs(since / (turn / STEP) - 1) < 0.01, f"pattern speed against it: {since:.3f} {turn / STEP:.3f}")
    rows = (disc["time"] == disc["time"].min()) & (disc["type"] == 2)
    names = ("R", "surface_density", "v_phi", "sigma_R", "v_c", "kappa", "Q")
    for name, expected in zip(names, found[0][2]):
        error = worst(disc[name][rows], expected)
        ok(error < 0.01, f"{name} by ring against it: {100 * error:.2f} %", f"{disc[name][rows]} {expected}")


def turned(tools, snapshot):
    """Of the particles of the disc, in the frame of espalier-plot map --face-on 2."""
    sys.path.insert(0, tools)
    import plot_map
    sys.argv = ["plot_map.py", snapshot, "--face-on", "2", "--types", "2", "--velocity"]
    (view,), _ = plot_map.read(plot_map.parse())
    spin = np.cross(view.pos, view.vel).mean(axis=0)
    flat, off = np.median(np.abs(view.pos[:, 2])), np.abs(view.pos.mean(axis=0)).max()
    print(f"half of the disc within {flat:.3f} of the plane, centre {off:.3f}, spin {spin}")
    sys.exit(not (flat < 0.3 and off < 0.5 and np.hypot(*spin[:2]) < 0.02 * spin[2]))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(*sys.argv[2:])
    elif sys.argv[1] == "same":
        same(*sys.argv[2:])
    elif sys.argv[1] == "moved":
        moved(*sys.argv[2:])
    elif sys.argv[1] == "centre":
        centre(*sys.argv[2:])
    elif sys.argv[1] == "turned":
        turned(*sys.argv[2:])
    else:
        judge_formulas(sys.argv[2])
        judge_model(sys.argv[2])
        sys.exit(failed > 0)
