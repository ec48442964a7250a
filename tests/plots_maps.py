#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""plots_maps.py SOURCE FOLDER [cropped]: numbers of maps, phase space and frames against known models; prints TAP.
Leaves in FOLDER a run of two clumps that move apart, with a catalogue of groups, a snapshot without velocities, and a
folder with a map. cropped: only the frames of movies of such maps."""
import os
import sys

src, folder = sys.argv[1:3]
sys.path.insert(0, os.path.join(src, "tools"))
import plotting  # noqa: E402
from plotting import h5py, np  # noqa: E402
from espalier_plots import measure, pictures  # noqa: E402
from follow import Frames  # noqa: E402
from snapshots import Snapshot, snapshot_paths  # noqa: E402

number = failed = 0
rng = np.random.default_rng(5)


def ok(good, text, told=""):
    global number, failed
    number, failed = number + 1, failed + (not good)
    print(("ok" if good else "not ok") + f" {number} - {text}" + ("" if good else f"\n# {told}"))


if sys.argv[3:] == ["cropped"]:
    import plot_movie
    ok([plot_movie.cut_of(64, 1.0, width) for width in (1.0, 0.99, None)] == [16, 16, 0],
       "half of the width is half of the pixels; a width between two pixels has both")
    grid = np.ones((64, 64)) + np.arange(64)
    for fine in 1, 3, 4:
        middle, places = plot_movie.smooth(grid, 1.0, 16, fine), (np.arange(32 * fine) + 0.5) / fine + 16
        error = np.abs(middle / (places + 0.5) - 1)
        ok(error.max() < 0.05, f"the middle of a map, {fine} times as fine", str(error.max()))
    # a disc that ends: the run's map of a wide field shows its edge as a map of the snapshot does
    radius = 0.1 * np.sqrt(rng.uniform(0, 1, 20000))
    angle = rng.uniform(0, 2 * np.pi, 20000)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    wide = np.histogram2d(y, x, 512, [[-1, 1], [-1, 1]])[0] * (256 / 1.0) ** 2 / 20000
    half = 1 - 2 * 218 / 512
    for found in (plot_movie.smooth(wide, 1.0, 218, 5),
                  measure.surface_density(x, y, np.full(20000, 1 / 20000), half, 400)):
        places = half * ((np.arange(len(found)) + 0.5) * 2 / len(found) - 1)
        far = np.hypot(places[:, None], places)
        ok(found[far < 0.07].mean() > 30 and found[far > 0.12].max() < 0.1, "a disc ends where it does",
           f"{found[far < 0.07].mean()} {found[far > 0.12].max()}")
    shown = plot_movie.Map(f"{folder}/maps/projection_0000.hdf5", "All", "xy")
    shown.density = np.zeros((64, 64))
    shown.density[22:42, 22:42] = 1
    width = plot_movie.width_of([shown])
    ok(abs(width - 1.05 * 20 / 32) < 1e-9, "the width of a type holds 97 % of its mass", str(width))
    sys.exit(failed > 0)

# --- maps: a square of uniform density, whose velocity along the line of sight is 3 x + noise of dispersion 2
count, half, pixels = 200000, 1.0, 64
x, y = rng.uniform(-1.5, 1.5, (2, count))
mass = rng.uniform(0.5, 1.5, count) / count
v = 3 * x + rng.normal(0, 2, count)
density, mean, width = measure.velocity_maps(x, y, v, mass, half, pixels)
inside = (np.abs(x) < half) & (np.abs(y) < half)
held = density.sum() * (2 * half / pixels) ** 2
ok(abs(held / mass[inside].sum() - 1) < 0.01, "a map holds the mass inside it", f"{held} {mass[inside].sum()}")
middle = (np.arange(pixels) + 0.5) / pixels * 2 * half - half
error = np.abs(mean - 3 * middle[None, :])
ok(np.median(error) < 0.2 and error.max() < 1.2, "mean velocities, [row of y][column of x]",
   f"{np.median(error)} {error.max()}")
ok(abs(np.median(width) / 2 - 1) < 0.05, "their dispersion", str(np.median(width)))
same = measure.surface_density(x, y, mass, half, pixels)
ok(np.median(np.abs(same - 1 / 9) * 9) < 0.1, "surface density in units of mass per area", str(np.median(same)))

# --- phase space: the mass is that of the particles, and stands where they are
pos, vel = rng.normal(0, 0.3, (50000, 3)), rng.normal(0, 0.2, (50000, 3))
vel += 0.5 * pos   # a Hubble flow: v_r = r / 2
one = np.full(50000, 1 / 50000)
for coordinate, least in (("r", 0.0), ("x", -2.0)):
    grid = measure.phase_density(pos, vel, one, coordinate, 2.0, 2.0, pixels)
    total = grid.sum() * (2.0 - least) / pixels * 4.0 / pixels
    places, speeds = (np.arange(pixels) + 0.5) / pixels * (2.0
                                                           - least) + least, (np.arange(pixels) + 0.5) / pixels * 4 - 2
    ridge = (grid * speeds[:, None]).sum(axis=0) / grid.sum(axis=0)
    there = (np.abs(places) > 0.3) & (np.abs(places) < 0.9)
    ok(abs(total - 1) < 0.01 and np.abs(ridge - 0.5 * places)[there].max() < 0.1,
       f"phase space of {coordinate} and its velocity", f"{total} {(ridge - 0.5 * places)[there]}")

# --- a run of two clumps: type 1 of 2000 particles rests, type 2 of 1000 moves away along x
os.makedirs(f"{folder}/run")
clump = [rng.normal(0, 0.3, (n, 3)) for n in (2000, 1000)]
motion = np.array([2.0, 0.5, 0])
for k in range(3):
    with h5py.File(f"{folder}/run/snapshot_{k:03}.hdf5", "w") as file:
        header = file.create_group("Header").attrs
        header["NumPart_ThisFile"] = header["NumPart_Total"] = [0, 2000, 1000, 0, 0, 0]
        header["MassTable"], header["Time"], header["NumFilesPerSnapshot"] = np.zeros(6), float(k), 1
        file.create_group("Units").attrs.update(UnitLength_in_cm=3.085678e21, UnitMass_in_g=1.98841e43,
                                                UnitVelocity_in_cm_per_s=1e5)
        file.create_group("Parameters").attrs["GravityConstantInternal"] = 43007.1
        for kind, rest in ((1, np.zeros(3)), (2, motion)):
            n, order = len(clump[kind - 1]), rng.permutation(len(clump[kind - 1]))
            group = file.create_group(f"PartType{kind}")
            group["Coordinates"] = (clump[kind - 1] + [3.0 * (kind == 2), 0, 0] + k * rest)[order]
            group["Velocities"] = np.tile(rest, (n, 1)) + rng.normal(0, 0.1, (n, 3))
            group["Masses"], group["ParticleIDs"] = np.full(n, 1e-4), (order + 1 + 2000 * (kind == 2)).astype(np.uint64)
with h5py.File(f"{folder}/run/fof_000.hdf5", "w") as file:
    file["Group/GroupLen"], file["Group/GroupOffset"] = np.array([2000, 1000], "u8"), np.array([0, 2000], "u8")
    file["IDs/ID"] = np.arange(1, 3001, dtype="u8")
    file.create_group("Header")
paths = snapshot_paths([f"{folder}/run"])
ok([os.path.basename(path) for path in paths] == [f"snapshot_{k:03}.hdf5" for k in range(3)],
   "catalogues of groups are no snapshots", str(paths))
moving = (("type", 2), ("group", 1), ("point", (3.0, 0, 0)))
for which in moving + (("type", 1), ("group", 0), ("all", None)):
    at = which in moving
    frames, off = Frames(which), []
    for k, path in enumerate(paths):
        origin, speed = frames.of(Snapshot(path, velocities=True, ids=frames.needs_ids()))
        off.append(np.abs(origin - at * (np.array([3.0, 0, 0]) + k * motion)).max() + np.abs(speed - at * motion).max())
    ok(max(off) < 0.2, f"a frame that follows {which}", str(off))

# --- the velocity of a frame is the mean of so many particles that its error is small: a set at rest, velocities of
# dispersion 1
draw, off = np.random.default_rng(11), []
for _ in range(20):
    frame = measure.Followed(measure.of_type(2)).frame(draw.normal(0, 1, (4000, 3)), draw.normal(0, 1, (4000, 3)),
                                                       np.ones(4000), np.arange(4000), np.full(4000, 2))
    off.append(frame[1])
error = float(np.sqrt(np.mean(np.square(off))))
ok(0.02 < error < 0.045, "the velocity of a frame is the mean of a thousand particles, where there are some",
   str(error))

# --- units
names = [plotting.Units({"UnitLength_in_cm": 3.0857e18, "UnitMass_in_g": mass, "UnitVelocity_in_cm_per_s": 1e5}).mass
         for mass in (1.98841e43, 4.0487e36, 1.98841e33, 1e3)]
ok(names == [r"$10^{10}\,$M$_\odot$", r"2036 M$_\odot$", r"M$_\odot$", "kg"], "masses of stars have solar masses",
   str(names))

kpc = {"UnitLength_in_cm": 3.0857e21, "UnitMass_in_g": 1.98841e43, "UnitVelocity_in_cm_per_s": 1e5}
units, chosen = plotting.Units(kpc), plotting.Units({**kpc, "chosen": True})
grid = pictures.grids_of(pictures.View(pos, vel, one, "t", units), [pictures.Panel("density", "xy")], 2.0, 1.0, 64)
held = grid[0][0].sum() * (4000 / 64) ** 2   # solar masses, with pixels in pc
ok(abs(held / 1e10 - 1) < 0.01 and units.surface == r"M$_\odot$ pc$^{-2}$" and chosen.surface_size == 1
   and chosen.surface == r"$10^{10}\,$M$_\odot$ kpc$^{-2}$", "surface densities of galaxies", f"{held} {units.surface}")
found = [plotting.Units(kpc).fit_times(times).time_text(times[-1]) for times in ([0, 0.5], [0, 1.5], [0, 2.0])]
ok(found == ["time 488.9 Myr", "time 1.467 Gyr", "time 1.956 Gyr"], "times below 1 Gyr are in Myr", str(found))

# --- one function draws for the tools and for pyespalier
view = pictures.View(pos, vel, one, "t", plotting.Units({}))
figure = pictures.figure_of_maps([view], [pictures.Panel("density", "xz")], 1.0, pixels=32)
single = plotting.plt.subplots()[1]
pictures.draw_map(single, view, "density", "xz", 1.0, pixels=32)
ok(np.array_equal(figure.axes[0].images[0].get_array(), single.images[0].get_array()),
   "a map of a figure and one by itself are the same")

# --- particles as points, a cluster's Jacobi radius, a flat disc from the side
few = pictures.View(pos[:500], vel[:500], one[:500], "t", plotting.Units({}), 0.5, np.array([0.1, 0, 0]))
panels = [pictures.Panel("density", "xy"), pictures.Panel("density", "xz")]
axis = pictures.figure_of_points([few], panels, 1.0).axes[0]
circle = axis.patches[0]
ok(len(axis.collections[0].get_offsets()) == 500 and circle.radius == 0.5 and tuple(circle.center) == (0.1, 0),
   "points, and a circle at the Jacobi radius", str(circle))
flat = pictures.View(pos * [1, 1, 0.05], vel, one, "t", plotting.Units({}))
ok(pictures.heights_of([view], panels, 0.6) == [1.0, 1.0] and pictures.heights_of([flat], panels, 1.0) == [1.0, 0.2],
   "a flat disc from the side has a low picture", str(pictures.heights_of([flat], panels, 1.0)))

# --- colours as colour-blind readers see them: Machado, Oliveira & Fernandes 2009, by differences in CIELAB
VISION = {"all cones": np.eye(3),
          "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                                  [-0.003882, -0.048116, 1.051998]]),
          "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                                    [-0.011820, 0.042940, 0.968881]]),
          "tritanopia": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                                  [0.004733, 0.691367, 0.303900]])}
CONES = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722],
                  [0.0193, 0.1192, 0.9505]]) / [[0.9505], [1.0], [1.089]]


def seen(colours, vision):
    """L, a, b of colours."""
    rgb = np.array([plotting.matplotlib.colors.to_rgb(colour) for colour in colours])
    light = np.clip(np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ vision.T, 0, 1) @ CONES.T
    f = np.where(light > (6 / 29) ** 3, np.cbrt(light), light / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


for name, colours in (("without an order", plotting.COLOURS), ("with an order", plotting.ordered_colours(7))):
    least = {}
    for kind, vision in VISION.items():
        places = seen(list(colours) + ["white"], vision)
        least[kind] = min(np.linalg.norm(a - b) for i, a in enumerate(places) for b in places[:i])
    ok(min(least.values()) > 12, f"colours of curves {name} can be told apart, and from white", str(least))

with h5py.File(f"{folder}/still_000.hdf5", "w") as file:
    file.create_group("Header").attrs.update(NumPart_Total=[0, 50000, 0, 0, 0, 0], Time=0.0, MassTable=np.zeros(6))
    file["PartType1/Coordinates"], file["PartType1/Masses"] = pos, one
os.makedirs(f"{folder}/maps")
with h5py.File(f"{folder}/maps/projection_0000.hdf5", "w") as file:
    file.create_group("Header").attrs.update(Time=0.0, HalfWidth=1.0)
    file["All/xy"] = same
sys.exit(failed > 0)
