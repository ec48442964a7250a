# SPDX-License-Identifier: GPL-3.0-or-later
"""For tests/comoving.sh: a sphere cut from a lattice as a file of GADGET format 1, and what a run makes of it.

    comoving.py make FILE CELLS A OMEGA0 OMEGALAMBDA EPSILON STATED   STATED 0: the header has no densities
    comoving.py header SNAPSHOT A      attributes of Header, Parameters and datasets
    comoving.py catalogue FOF SNAPSHOT A PART CELLS   groups of one particle; the linking length is PART of the
    lattice's comoving.py first SNAPSHOT FILE    positions and velocities are those of the file
    comoving.py grown SNAPSHOT CELLS A END OMEGA0 OMEGALAMBDA EPSILON SOFTENING   the mean radius is that of theory
    within 1 % of its change comoving.py foreign SNAPSHOT OUT   an HDF5 file of another program with the same particles
    comoving.py shift FILE OUT         the file at another place and in motion
    comoving.py moved SNAPSHOT SNAPSHOT A END   what a run makes of both differs by that alone
    comoving.py near SNAPSHOT SNAPSHOT LIMIT   positions differ by less than this part of their rms
"""
import math
import struct
import sys

RADIUS = 20000.0
HUBBLE = 0.1   # H_0, km/s / (kpc/h)


def make(name, cells, a, omega0, omega_lambda, epsilon, stated):
    cells, a, omega0, omega_lambda, epsilon = int(cells), float(a), float(omega0), float(omega_lambda), float(epsilon)
    cell = RADIUS / cells
    lattice = range(-cells, cells + 1)
    points = [(i * cell, j * cell, k * cell) for i in lattice for j in lattice for k in lattice if i * i + j * j + k * k
              <= cells * cells]
    rate = math.sqrt(omega0 / a**3 + (1 - omega0 - omega_lambda) / a**2 + omega_lambda)
    growth = (omega0 / a**3 / rate**2) ** 0.55
    # u = v_pec / sqrt(a), v_pec = a dx/dt, dx/dt = H dx/dlna
    factor = -epsilon * growth * HUBBLE * rate * math.sqrt(a)
    mass = omega0 * 27.7536627e-9 * cell**3
    says = stated == "1"
    header = struct.pack("<6I6ddd2i6Iii4d", 0, len(points), 0, 0, 0, 0, 0, mass, 0, 0, 0, 0, a, 1 / a - 1, 0, 0, 0,
                         len(points), 0, 0, 0, 0, 0, 1, 0, omega0 if says else 0, omega_lambda if says else 0,
                         0.7 if says else 0)
    blocks = [header.ljust(256, b"\0"),
              b"".join(struct.pack("<3f", *((1 - epsilon) * x for x in q)) for q in points),
              b"".join(struct.pack("<3f", *(factor * x for x in q)) for q in points),
              struct.pack("<%dI" % len(points), *range(1, len(points) + 1))]
    with open(name, "wb") as out:
        for block in blocks:
            out.write(struct.pack("<I", len(block)) + block + struct.pack("<I", len(block)))


def near(a, b, tolerance=1e-9):
    return abs(a - b) <= tolerance * max(1, abs(b))


def header(name, a):
    import h5py
    a = float(a)
    with h5py.File(name, "r") as f:
        at, par = f["Header"].attrs, f["Parameters"].attrs
        good = near(at["Time"], a) and near(at["Redshift"], 1 / a
                                            - 1) and at["Omega0"] == 0.3 and at["OmegaLambda"] == 0.7
        good = good and at["HubbleParam"] == 0.7 and at["BoxSize"] == 0
        good = (good and par["Omega0"] == 0.3 and par["OmegaLambda"] == 0.7 and par["HubbleParam"] == 0.7
                and par["ComovingIntegrationOn"] == 1)
        # the age of a flat universe with h = 0.7
        age = 2 / (3 * math.sqrt(0.7)) * math.asinh(math.sqrt(0.7 / 0.3) * a**1.5) / (0.7 * 1.0227121e-1)
        good = good and near(par["Time_GYR"], age, 1e-3)
        for column, powers in {"Coordinates": (1, -1), "Velocities": (0.5, 0), "Masses": (0, -1),
                               "Potential": (-1, 0)}.items():
            d = f["PartType1"][column].attrs
            good = (good and (d["a_scaling"], d["h_scaling"]) == powers
                    and (d["aexp-scale-exponent"], d["h-scale-exponent"]) == powers)
        print("# age %.4f Gyr, %.4f expected" % (par["Time_GYR"], age))
    return good


def catalogue(name, snapshot, a, part, cells):
    import h5py
    x, u = load(snapshot)
    with h5py.File(name, "r") as f:
        head, par, g = f["Header"].attrs, f["Parameters"].attrs, f["Group"]
        good = near(head["Time"], float(a)) and near(head["Redshift"], 1 / float(a)
                                                     - 1) and par["ComovingIntegrationOn"] == 1
        good = good and (par["Omega0"], par["OmegaLambda"], par["HubbleParam"]) == (0.3, 0.7, 0.7)
        good = good and abs(head["LinkingLength"] / (float(part) * RADIUS / int(cells)) - 1) < 1e-3
        for column, powers in {"GroupPos": (1, -1), "GroupVel": (0.5, 0), "GroupMass": (0, -1)}.items():
            good = good and (g[column].attrs["a_scaling"], g[column].attrs["h_scaling"]) == powers
        single = g["GroupLen"][...] == 1
        row = f["IDs/ID"][...][g["GroupOffset"][...][single].astype(int)].astype(int) - 1   # ids are 1, 2, ...
        worst = abs(g["GroupVel"][...][single] - u[row]).max() / abs(u).max() if single.any() else 1
        print("# %d groups of one particle, linking length %.6g, velocities differ by %.1e"
              % (single.sum(), head["LinkingLength"], worst))
        return good and worst < 1e-9


def load(name):
    import h5py
    import numpy
    with h5py.File(name, "r") as f:
        g = f["PartType1"]
        order = numpy.argsort(g["ParticleIDs"][...])
        return g["Coordinates"][...][order], g["Velocities"][...][order]


def first(name, file):
    import numpy
    with open(file, "rb") as f:
        raw = f.read()
    n = struct.unpack_from("<I", raw, 8)[0]
    x = numpy.frombuffer(raw, "<f4", 3 * n, 268).reshape(-1, 3)
    u = numpy.frombuffer(raw, "<f4", 3 * n, 276 + 12 * n).reshape(-1, 3)
    y, v = load(name)
    print("# positions differ by at most %.1e, velocities by %.1e of %.3g"
          % (abs(x - y).max(), abs(u - v).max(), abs(u).max()))
    return abs(x - y).max() < 1e-3 and abs(u - v).max() < 1e-6 * abs(u).max()


def compare(one, two, limit):
    import numpy
    x, y = load(one)[0], load(two)[0]
    worst = numpy.sqrt(((x - y) ** 2).mean()) / numpy.sqrt((x**2).mean())
    print("# rms difference %.2e, rms change %.3f" % (worst, numpy.sqrt((x**2).mean()) / RADIUS))
    return worst < float(limit)


def grown(name, cells, a, end, omega0, omega_lambda, epsilon, softening):
    """The mean radius against the top-hat, y'' + (2 + H'/H) y' = -(Omega0 / 2) (pull / y^2 - y) / (a^3 H^2), with the
    pull of the lattice's points."""
    import numpy
    cells = int(cells)
    a, end, omega0, omega_lambda, epsilon, softening = (float(x)
                                                        for x in (a, end, omega0, omega_lambda, epsilon, softening))
    line = numpy.arange(-cells, cells + 1)
    q = numpy.stack(numpy.meshgrid(line, line, line, indexing="ij"), -1).reshape(-1, 3)
    q = q[(q**2).sum(1) <= cells**2].astype(float)
    pull = 0
    for k in range(len(q)):
        r2 = ((q - q[k]) ** 2).sum(1)
        pull += 0.5 * (r2 / (r2 + (softening * cells / RADIUS) ** 2 + (r2 == 0)) ** 1.5).sum()
    pull /= 4 * math.pi / 3 * (q**2).sum()
    k = 1 - omega0 - omega_lambda

    def slopes(log_a, y, s):
        b = math.exp(log_a)
        rate2 = omega0 / b**3 + k / b**2 + omega_lambda
        change = (-3 * omega0 / b**3 - 2 * k / b**2) / (2 * rate2)
        return s, -(2 + change) * s - 0.5 * omega0 / (b**3 * rate2) * (pull / y**2 - y)

    rate2 = omega0 / a**3 + k / a**2 + omega_lambda
    y, s, steps = 1 - epsilon, -epsilon * (omega0 / a**3 / rate2) ** 0.55, 4000
    h = math.log(end / a) / steps
    for i in range(steps):   # midpoint rule
        now = math.log(a) + i * h
        dy, ds = slopes(now, y, s)
        dy, ds = slopes(now + h / 2, y + h / 2 * dy, s + h / 2 * ds)
        y, s = y + h * dy, s + h * ds
    x = load(name)[0]
    found = (x * q).sum() / (q**2).sum() * cells / RADIUS
    print("# y = %.5f, theory %.5f, pull %.4f" % (found, y, pull))
    return abs(found - y) < 0.01 * abs(1 - y)


def foreign(name, out):
    """A snapshot as a file of another program: without what this one writes of itself."""
    import shutil
    import h5py
    shutil.copy(name, out)
    with h5py.File(out, "r+") as f:
        del f["Header"].attrs["Code"]
        del f["Units"], f["Config"]
        for key in list(f["Parameters"].attrs):
            del f["Parameters"].attrs[key]
    return True


def shift(name, out):
    """The file with another place and a bulk velocity, in numbers of 8 bytes."""
    with open(name, "rb") as f:
        raw = f.read()
    n = struct.unpack_from("<I", raw, 8)[0]
    blocks = [raw[4:260]]
    for begin, add in ((268, (1e5, 0, -3e4)), (276 + 12 * n, (300, 20, 0))):
        numbers = struct.unpack_from("<%df" % (3 * n), raw, begin)
        blocks.append(struct.pack("<%dd" % (3 * n), *(x + add[k % 3] for k, x in enumerate(numbers))))
    blocks.append(raw[-4 * n - 4:-4])
    with open(out, "wb") as f:
        for block in blocks:
            f.write(struct.pack("<I", len(block)) + block + struct.pack("<I", len(block)))
    return True


def moved(one, two, a, end):
    """The second run is the first one, moved by v_pec ~ 1 / a from a = 0.1 in a universe with Omega0 = 0.3, OmegaLambda
    = 0.7."""
    import numpy
    a, end, steps = float(a), float(end), 4000
    x, u = load(one)
    y, v = load(two)
    tau, h = 0, math.log(end / a) / steps
    for k in range(steps):   # d tau = d ln a / (a^2 H)
        b = a * math.exp((k + 0.5) * h)
        tau += h / (b * b * HUBBLE * math.sqrt(0.3 / b**3 + 0.7))
    speed = numpy.array([300, 20, 0]) * a**1.5
    place = numpy.array([1e5, 0, -3e4]) + speed * tau
    worst = abs(y - x - place).max(), abs(v - u - speed / end**1.5).max()
    print("# moved by %.3f, theory %.3f; largest differences %.1e, %.1e" % ((y - x)[:, 0].mean(), place[0], *worst))
    return worst[0] < 1e-2 and worst[1] < 1e-3


what = sys.argv[1]
if what == "make":
    make(*sys.argv[2:])
else:
    sys.exit(not {"header": header, "catalogue": catalogue, "first": first, "near": compare, "grown": grown,
                  "foreign": foreign, "shift": shift, "moved": moved}[what](*sys.argv[2:]))
