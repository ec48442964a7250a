#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""plots_input.py TOOLS FOLDER: the plot scripts meet absent, empty, wrong, damaged and incomplete files: a sentence
that names the file, exit status 1, and no picture. FOLDER is for the files."""
import contextlib
import io
import os
import re
import shutil
import sys

tools, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
sys.path.insert(0, tools)
os.chdir(folder)
import plotting  # noqa: E402
from plotting import h5py, np  # noqa: E402

KINDS = {kind: __import__(f"plot_{kind}") for kind in ("map", "density", "profile", "cluster", "energy", "steps",
                                                       "substeps", "comm", "study", "scaling", "force", "rotation",
                                                       "disc", "modes")}
number = failed = 0


def call(kind, *words):
    """Exit status, what stands on the terminal, and whether there is a picture."""
    for name in ("plot.png", "plot.pdf", "plot.png.part"):
        if os.path.isfile(name):
            os.remove(name)
    sys.argv = [f"plot_{kind}.py", *words] + ([] if any(word.startswith("-o") for word in words)
                                              else ["-o", "plot.png"])
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            KINDS[kind].main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            if isinstance(end.code, str):
                err.write(end.code + "\n")
        except BaseException as error:  # a traceback for the user
            status, _ = 99, err.write(f"{type(error).__name__}: {error}\n")
    plotting.plt.close("all")
    return status, out.getvalue(), err.getvalue(), os.path.exists("plot.png")


def ok(good, text, told=""):
    global number, failed
    number, failed = number + 1, failed + (not good)
    print(("ok" if good else "not ok") + f" {number} - {text}" + ("" if good else "\n# " + told.replace("\n", "\n# ")))


def says(pattern, kind, *words):
    status, out, err, picture = call(kind, *words)
    good = (status == 1 and err.count("\n") == 1 and err.startswith(f"espalier-plot {kind}: ")
            and re.search(pattern, err) and not picture)
    ok(good, f"{kind} {' '.join(words)}: {pattern}", f"status {status}, picture {picture}: {err}")


def draws(kind, *words, warned=""):
    status, out, err, picture = call(kind, *words)
    ok(status == 0 and picture and (bool(re.search(warned, err)) if warned else not err),
       f"{kind} {' '.join(words)} draws", f"status {status}: {err}")
    return out


def snapshot(path, count=300, files=1, total=None, time=0.0, seed=1, kind=1, gravity=1.0, softening=None, **changed):
    """A snapshot of random particles; `changed` replaces datasets, or leaves them out where it is None."""
    pos = np.random.default_rng(seed).normal(size=(count, 3))
    with h5py.File(path, "w") as file:
        header = file.create_group("Header").attrs
        of_kind = np.arange(6) == kind
        header["NumPart_ThisFile"], header["NumPart_Total"] = count * of_kind, (total or count) * of_kind
        header["MassTable"], header["Time"], header["NumFilesPerSnapshot"] = np.zeros(6), time, files
        units = file.create_group("Units").attrs
        units["UnitLength_in_cm"], units["UnitMass_in_g"], units["UnitVelocity_in_cm_per_s"] = (
            3.085678e21, 1.98841e43, 1e5)
        file.create_group("Parameters").attrs["GravityConstantInternal"] = gravity
        if softening is not None:
            file["Parameters"].attrs["Softening"] = softening
        group = file.create_group(f"PartType{kind}")
        for name, data in {"Coordinates": pos, "Masses": np.full(count, 1 / count), **changed}.items():
            if data is not None:
                group[name] = data


def virtual(path, parts, count):
    """A file whose datasets lie in the parts."""
    snapshot(path, count=1)
    with h5py.File(path, "a") as file:
        file["Header"].attrs["NumPart_ThisFile"] = file["Header"].attrs["NumPart_Total"] = (
            2 * count * (np.arange(6) == 1))
        for name, shape in (("Coordinates", (2 * count, 3)), ("Masses", (2 * count,))):
            del file["PartType1"][name]
            layout = h5py.VirtualLayout(shape=shape, dtype="f8")
            for k, part in enumerate(parts):
                layout[k * count:(k + 1) * count] = h5py.VirtualSource(part, f"PartType1/{name}",
                                                                       shape=(count, *shape[1:]))
            file["PartType1"].create_virtual_dataset(name, layout)


# --- files
os.mkdir("run"), os.mkdir("none"), os.mkdir("run/snapdir_002"), os.mkdir("gadget"), os.mkdir("gadget/snapdir_000")
for k in range(2):
    snapshot(f"run/snapshot_{k:03}.hdf5", time=k, seed=k)
    snapshot(f"run/snapdir_002/snapshot_002.{k}.hdf5", files=2, total=600, time=2, seed=k)
    snapshot(f"gadget/snapdir_000/s_000.{k}.hdf5", files=2, total=600, seed=k)
virtual("run/snapshot_002.hdf5", [f"snapdir_002/snapshot_002.{k}.hdf5" for k in range(2)], 300)
whole = open("run/snapshot_000.hdf5", "rb").read()
files = {"empty": b"", "text": b"some words\n1,2\n", "cut.hdf5": whole[:len(whole) // 2],
         "damaged.hdf5": whole[:40] + b"x" * 200 + whole[240:],
         "csv.hdf5": b"step,time\n0,1\n", "gadget1": (256).to_bytes(4, "little") + bytes(300)}
for name, content in files.items():
    with open(name, "wb") as file:
        file.write(content)
with h5py.File("other.hdf5", "w") as file:
    file["data"] = np.zeros(3)
with h5py.File("header.hdf5", "w") as file:
    file["Header"] = 1.0
snapshot("words.hdf5", Coordinates=np.array([b"a"] * 300)), snapshot("flat.hdf5", Coordinates=np.zeros(300))
snapshot("nomass.hdf5", Masses=None)
snapshot("zero.hdf5", Masses=np.zeros(300))
snapshot("short.hdf5", Masses=np.ones(299))
snapshot("nan.hdf5", Coordinates=np.full((300, 3), np.nan))
snapshot("fewer.hdf5", Coordinates=np.zeros((200, 3)), Masses=np.ones(200))
snapshot("point.hdf5", Coordinates=np.zeros((300, 3))), snapshot("group.hdf5", Coordinates=None)
snapshot("physical.hdf5", gravity=43007.1, time=2.0), snapshot("one.hdf5", count=1), snapshot("lone.hdf5", files=4)
os.symlink("run/snapshot_002.hdf5", "link.hdf5")
os.symlink("run", 'a "b" $(touch X); c'), os.symlink("run", "-dash")
snapshot("dimensionless.hdf5")
with h5py.File("dimensionless.hdf5", "a") as file:   # units in which G is 1, as Espalier states them for a model
    facts = file["Units"].attrs
    facts["UnitLength_in_cm"], facts["UnitMass_in_g"], facts["UnitVelocity_in_cm_per_s"] = 1.0, 1.0, 2.583466663e-4
    facts["UnitSystem"] = np.bytes_("dimensionless")

# --- snapshots
for kind in ("density", "profile", "cluster"):
    says(r"absent.hdf5 is not there", kind, "absent.hdf5")
    says(r"none is a folder without snapshots", kind, "none")
    says(r"empty is empty", kind, "empty")
    says(r"text is not an HDF5 file", kind, "text")
    says(r"gadget1 is no file of GADGET: the lengths about a record differ", kind, "gadget1")
    says(r"cut.hdf5 is cut off: \d+ of its \d+ bytes", kind, "cut.hdf5")
    says(r"damaged.hdf5 is damaged|is no GADGET", kind, "damaged.hdf5")
    says(r"other.hdf5 is no GADGET snapshot: it has no /Header", kind, "other.hdf5")
    says(r"header.hdf5 is no GADGET snapshot: it has no /Header", kind, "header.hdf5")
    says(r"words.hdf5 is no GADGET snapshot", kind, "words.hdf5")
    says(r"flat.hdf5 is no GADGET snapshot: .* shape \(300,\)", kind, "flat.hdf5")
    says(r"group.hdf5 is no GADGET snapshot: /PartType1 has no Coordinates", kind, "group.hdf5")
    says(r"nomass.hdf5 .*neither Masses", kind, "nomass.hdf5")
    says(r"zero.hdf5: its particles have no mass", kind, "zero.hdf5")
    says(r"short.hdf5 .*Masses of the shape \(299,\)", kind, "short.hdf5")
    says(r"nan.hdf5 has positions .* no finite numbers", kind, "nan.hdf5")
    says(r"fewer.hdf5 should have 300 particles of type 1, and has 200", kind, "fewer.hdf5")
    says(r"all particles are in one place", kind, "point.hdf5")
    says(r"has no particles of type 3", kind, "run", "--types", "3")
    says(r"lone.hdf5 says that it is one of 4 files", kind, "lone.hdf5")
    says(r"different units: .*model units.*kpc|different units: kpc.*model units", kind, "run/snapshot_000.hdf5",
         "physical.hdf5")
    says(r"cannot be written: No such file", kind, "run", "-o", "none/x/plot.png")
    says(r"cannot be written: Is a directory", kind, "run", "-ofolder.png") if not os.mkdir("folder.png") else None
    os.rmdir("folder.png")
    says(r"plot.foo: expected a name that ends in .png, .pdf or .svg", kind, "run", "-oplot.foo")
    says(r"run/snapshot_000.hdf5: expected a name that ends", kind, "run", "-orun/snapshot_000.hdf5")
    draws(kind, "run")
    says(r"different units: .*model units.*kpc|different units: kpc.*model units", kind, "dimensionless.hdf5",
         "physical.hdf5")
    draws(kind, 'a "b" $(touch X); c')
    draws(kind, "-oplot.png", "--", "-dash")
    draws(kind, "physical.hdf5")
    draws(kind, "run/snapshot_000.hdf5", "dimensionless.hdf5")
    for name in ("gadget", "gadget/snapdir_000", "gadget/snapdir_000/s_000", "gadget/snapdir_000/s_000.1.hdf5",
                 "link.hdf5"):
        draws(kind, name)
says("has 1 particles, too few", "profile", "one.hdf5")
says("every type has too few|too few for a profile", "profile", "--by-type", "one.hdf5")
says("all particles are in one place; give --width", "density", "one.hdf5")
draws("density", "one.hdf5", "--width", "2")

# --- clusters
says("one.hdf5 has 1 particles with mass, too few", "cluster", "one.hdf5")
says("does not state one softening length for all particles and the gravitational constant", "cluster", "run",
     "--true-energies", "on")
ok("drawn: 2 of 3 snapshots" in draws("cluster", "run", "--most", "2"), "two snapshots of three")
os.mkdir("tables")
snapshot("tables/s_000.hdf5", softening=0.1, Velocities=np.zeros((300, 3)))
snapshot("tables/s_001.hdf5", time=1.0, softening=0.1)
says("s_001.hdf5: true energies need the positions, velocities and masses", "cluster", "tables", "--true-energies",
     "on")
says("s_000.hdf5: true energies need", "cluster", "tables", "--true-energies", "on", "--types", "1")
snapshot("shape.hdf5", Velocities=np.zeros((300, 2)))
says(r"shape.hdf5 .*Velocities of the shape \(300, 2\)", "cluster", "shape.hdf5")
for name, content, fragment in (("energy", "", "is empty"), ("steps", "step,other\n1,2\n", "has no column 'time'"),
                                ("energy", "# units: dimensionless\ntime,total\n", "energy.csv has no rows yet"),
                                ("energy", "# UnitLength_in_cm 3e18, UnitMass_in_g 2e33, UnitVelocity_in_cm_per_s "
                                           "1e5\ntime,total\n0,1\n", "different units")):
    with open(f"tables/{name}.csv", "w", encoding="utf-8") as file:
        file.write(content)
    says(fragment, "cluster", "tables")
    os.remove(f"tables/{name}.csv")

# --- parts that are missing or damaged
shutil.copytree("run", "holed"), shutil.copytree("gadget", "holed_gadget")
os.remove("holed/snapdir_002/snapshot_002.1.hdf5"), os.remove("holed_gadget/snapdir_000/s_000.0.hdf5")
for kind in ("density", "profile", "cluster"):
    says(r"holed/snapshot_002.hdf5 has 2 parts.*holed/snapdir_002/snapshot_002.1.hdf5 is not there.*--partial", kind,
         "holed")
    says(r"s_000.1.hdf5 has 2 parts.*s_000.0.hdf5 is not there", kind, "holed_gadget")
    draws(kind, "holed", "--partial", warned=r"^espalier-plot \w+: holed/snapshot_002.hdf5 is drawn without 1 of its 2 "
                                             r"parts: .*002.1.hdf5 is not there\n$")
with open("holed/snapdir_002/snapshot_002.1.hdf5", "wb") as file:
    file.write(whole[:len(whole) // 2])
says(r"snapshot_002.1.hdf5 is cut off", "density", "holed/snapshot_002.hdf5")
snapshot("holed/snapdir_002/snapshot_002.1.hdf5", count=299, files=2, total=600)
says(r"should have 600 particles of type 1, and its 2 parts have 599", "density", "holed/snapshot_002.hdf5")
import snapshots  # noqa: E402
ok(snapshots.snapshot_paths(["run/snapdir_002/snapshot_002.0.hdf5", "run/snapdir_002/snapshot_002.1.hdf5",
                             "run/snapdir_002/snapshot_002"]) ==
   ["run/snapdir_002/snapshot_002.0.hdf5"], "parts of one snapshot are one")
ok(len(snapshots.Snapshot("run/snapshot_002.hdf5").all()[1]) == 600
   == len(snapshots.Snapshot("run/snapdir_002/snapshot_002.1.hdf5").all()[1]),
   "all parts are read")
snapshot("a.1.hdf5"), snapshot("a.2.hdf5")
ok(snapshots.snapshot_paths(["a.1.hdf5", "a.2.hdf5"]) == ["a.1.hdf5", "a.2.hdf5"],
   "numbers in the names of single files")
os.mkdir("many")
for k in range(30):
    os.symlink("../run/snapshot_000.hdf5", f"many/s_{k:03}.hdf5")
ok("drawn: 21 of 30 snapshots" in draws("density", "many", "--pixels", "32"), "what was left out is told")
ok("drawn: 4 of 30" in draws("density", "many", "--pixels", "32", "--most", "4"), "as many as are asked for")

# --- tables
for kind, name in (("energy", "energy.csv"), ("steps", "timers.csv"), ("substeps", "substeps.csv"),
                   ("comm", "comm.csv"), ("scaling", "scaling.csv")):
    says(r"absent", kind, "absent")
    says(name + r" (cannot be read: No such file|is not there)", kind, "none")
    for content, fragment in (("empty", "is empty"), ("text", r"has no column"),
                              ("cut.hdf5", "is not a table of text")):
        with contextlib.suppress(FileExistsError):
            os.mkdir(f"{kind}_{content}")
        shutil.copy(content, f"{kind}_{content}/{name}")
        says(f"{name} {fragment}", kind, f"{kind}_{content}")
for kind in ("study", "force", "energy", "substeps", "scaling", "comm"):
    says(r"absent.csv (cannot be read: No such file|is not there)", kind, "absent.csv")
    says(r"cut.hdf5 is (not a table of text|neither)", kind, "cut.hdf5")
    says(r"empty is (empty|neither)", kind, "empty")
    says(r"text (has no column|is neither)", kind, "text")
for kind in ("study", "force"):
    says(r"none is a folder, not a table", kind, "none")
for kind in KINDS:
    says(r"cannot be written", kind, "run", "-o", "absent/plot.png")
    status, out, _, _ = call(kind, "--help")
    ok(status == 0 and ".pdf" not in out and "PDF" in out and "usage:" in out and len(out) > 400, f"{kind} --help", out)
print(f"1..{number}")
sys.exit(failed > 0)
