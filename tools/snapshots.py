# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots for the plot scripts: GADGET's HDF5 files, single, in several parts, or a file with virtual datasets;
files and sets of GADGET 1 and 2, files of TIPSY (binary_formats.py). A
missing or damaged part, which HDF5 may read as zeros, is an error that names the part; with --partial the snapshot is
drawn without it."""
import os
import re

from binary_formats import is_binary, read_binary
from plotting import Units, fail, h5py, np, warn
from espalier_plots.facts import softenings, tidal
from unit_systems import Factors, add_units

PART = re.compile(r"^(?P<stem>.*)\.(?P<number>\d+)(?P<ending>\.hdf5|\.h5|)$")   # without one: binary formats
BINARY = re.compile(r"^.*_\d{3,}(\.0)?$")   # single files of binary formats, and the first ones of sets
# fof_NNN.hdf5 are catalogues of groups
NUMBERED = re.compile(r"^(?!fof_\d+\.)(?P<stem>.*)_(?P<number>\d{3,})(\.hdf5|\.h5)$")


class Fault(Exception):
    """What is wrong with a file, without its name."""


def hdf5_fault(path, error):
    """The error of HDF5 in plain words, where it is a known one."""
    text = str(error)
    cut = re.search(r"truncated file: eof = (\d+).*stored_eof = (\d+)", text)
    if cut:
        return f"is cut off: {cut.group(1)} of its {cut.group(2)} bytes are there"
    if "signature not found" in text:
        return "is empty" if os.path.getsize(path) == 0 else "is not an HDF5 file"
    return "is damaged: " + (re.search(r"\((.*)\)", text) or [text, text])[1]


def open_hdf5(path):
    if os.path.isdir(path):
        raise Fault("is a folder")
    if os.path.exists(path) and not os.path.isfile(path):
        raise Fault("is not a file")
    try:
        with open(path, "rb"):
            pass
    except FileNotFoundError:
        raise Fault("is not there") from None
    except OSError as error:
        raise Fault(f"cannot be read: {error.strerror}") from None
    try:
        return h5py.File(path, "r")
    except OSError as error:
        fault = hdf5_fault(path, error)
    try:
        found = read_binary(path)
    except ValueError as error:
        raise Fault(str(error)) from None
    if found is None:
        raise Fault(fault)
    return found


def number(attributes, name, otherwise):
    return int(np.ravel(attributes[name])[0]) if name in attributes else otherwise


def counts(attributes, name):
    """Particles by type, or None where the file does not have them."""
    if name not in attributes:
        return None
    values = np.ravel(attributes[name]).astype(np.int64)
    if name == "NumPart_Total" and "NumPart_Total_HighWord" in attributes:
        values = values + (np.ravel(attributes["NumPart_Total_HighWord"]).astype(np.int64)[:len(values)] << 32)
    return [int(value) for value in values[:6]] + [0] * (6 - len(values))


def virtual_parts(file, folder):
    """The files in which virtual datasets lie, in order; none where there are no such datasets."""
    found = []
    for name, group in file.items():
        if name.startswith("PartType"):
            for data in group.values():
                if isinstance(data, h5py.Dataset) and data.is_virtual:
                    found += [source.file_name for source in data.virtual_sources()]
    paths = [name if name == "." else os.path.join(folder, name) for name in dict.fromkeys(found)]
    return sorted(paths, key=natural)


def natural(path):
    """Numbers in a name count as numbers: 2 comes before 10."""
    return [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", path)]


def part_rows(file, types, velocities=False, ids=False):
    """Positions and masses of one file, by type, and velocities (nan where the file has none) and ids if they are asked
    for."""
    header = file["Header"].attrs
    stated, table = counts(header, "NumPart_ThisFile"), np.ravel(header.get("MassTable", np.zeros(6)))
    rows = {}
    for kind in range(6):
        name = f"PartType{kind}"
        if types and kind not in types:
            continue
        if name not in file:
            if stated and stated[kind]:
                raise Fault(f"should have {stated[kind]} particles of type {kind}, and has no /{name}")
            continue
        group = file[name]
        if "Coordinates" not in group:
            raise Fault(f"is no GADGET snapshot: /{name} has no Coordinates")
        pos = group["Coordinates"][()]
        if pos.ndim != 2 or pos.shape[1] != 3:
            raise Fault(f"is no GADGET snapshot: /{name}/Coordinates has the shape {pos.shape}, not [N,3]")
        if stated and stated[kind] != len(pos):
            raise Fault(f"should have {stated[kind]} particles of type {kind}, and has {len(pos)} Coordinates")
        if "Masses" in group:
            mass = group["Masses"][()]
        elif kind < len(table) and table[kind] > 0:
            mass = np.full(len(pos), table[kind])
        else:
            raise Fault(f"is no GADGET snapshot: /{name} has neither Masses nor an entry in MassTable")
        if mass.shape != (len(pos),):
            raise Fault(f"is no GADGET snapshot: /{name} has {len(pos)} Coordinates, and Masses of the shape "
                        f"{mass.shape}")
        pos, mass = pos.astype(np.float64), mass.astype(np.float64)
        if not (np.isfinite(pos).all() and np.isfinite(mass).all()):
            raise Fault(f"has positions or masses of type {kind} that are no finite numbers")
        rows[kind] = (pos, mass)
        if velocities:
            vel = group["Velocities"][()].astype(np.float64) if "Velocities" in group else np.full(pos.shape, np.nan)
            if vel.shape != pos.shape:
                raise Fault(f"is no GADGET snapshot: /{name} has {len(pos)} Coordinates, and Velocities of the shape "
                            f"{vel.shape}")
            rows[kind] += (vel,)
        if ids:
            if group.get("ParticleIDs") is None or group["ParticleIDs"].shape != mass.shape:
                raise Fault(f"has no ParticleIDs of type {kind}")
            rows[kind] += (group["ParticleIDs"][()],)
    return rows


def careful(path, reader):
    """reader(file) of an HDF5 file; any error becomes a Fault."""
    with open_hdf5(path) as file:
        try:
            if not isinstance(file.get("Header"), h5py.Group):
                raise Fault("is no GADGET snapshot: it has no /Header")
            return reader(file)
        except OSError as error:
            raise Fault(hdf5_fault(path, error)) from None
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise Fault(f"is no GADGET snapshot, or is damaged: {str(error).splitlines()[0]}") from None


class Snapshot:
    """Time, units, softening length and gravitational constant (None where they are not stated, or not one for all
    types), the potential energy in an external field, and per type the positions and masses, with `velocities` and
    `ids` those too, of all parts of a snapshot."""

    def __init__(self, path, types=None, partial=False, velocities=False, ids=False):
        self.path, self.softening, self.gravity, self.field_energy, self.field_moves = path, None, None, 0.0, False
        self.softenings, self.comoving, self.unit_sizes = None, False, None
        self.omega = self.tide = 0.0   # of a TidalField: angular velocity of the frame about z, 4 omega^2 - kappa^2
        try:
            self.time, self.units, parts, total = careful(path, self.facts)
        except Fault as fault:
            fail(f"{path} {fault}")
        rows, faults = [], []
        for part in parts:
            try:
                rows.append(careful(part, lambda file: part_rows(file, types, velocities, ids)))
            except Fault as fault:
                faults.append(f"{part} {fault}")
        if faults and len(parts) == 1 and parts[0] == path:
            fail(faults[0])
        if faults:
            if not partial or not rows:
                fail(f"{path} has {len(parts)} parts, and not all are good: {self.few(faults)}"
                     + (" (--partial draws the others)" if rows else ""))
            warn(f"{path} is drawn without {len(faults)} of its {len(parts)} parts: {self.few(faults)}")
        self.incomplete = bool(faults)
        self.pos, self.mass, self.vel, self.ids = {}, {}, {}, {}
        for kind in range(6):
            mine = [row[kind] for row in rows if kind in row]
            if mine:
                self.pos[kind], self.mass[kind], *rest = (np.concatenate(column) for column in zip(*mine))
                if ids:
                    self.ids[kind] = rest.pop()
                if velocities:
                    self.vel[kind] = rest[0]
            found = len(self.mass.get(kind, ()))
            if total and not faults and len(parts) > 1 and not (types and kind not in types) and found != total[kind]:
                fail(f"{path} should have {total[kind]} particles of type {kind}, and its {len(parts)} parts have "
                     f"{found}")
        self.check(types)
        self.convert()

    def convert(self):
        """To the units of --units."""
        factors = self.factors
        length, speed = factors.of(1), factors.of(0, 0, 1)
        for kind in self.pos:
            self.pos[kind], self.mass[kind] = self.pos[kind] * length, self.mass[kind] * factors.of(0, 1)
        self.vel = {kind: vel * speed for kind, vel in self.vel.items()}
        self.time *= factors.time()
        if self.comoving:   # an expansion factor
            self.units.plain_time = "", 1.0
        self.units.fit_times([self.time])
        self.omega, self.tide = self.omega / factors.time(), self.tide / factors.time() ** 2
        self.softening = None if self.softening is None else self.softening * length
        self.softenings = None if self.softenings is None else [soft * length for soft in self.softenings]
        self.gravity = None if self.gravity is None else self.gravity * factors.of(1, -1, 2)
        self.field_energy = None if self.field_energy is None else self.field_energy * factors.of(0, 1, 2)
        if self.unit_sizes:
            self.unit_sizes = [size / factor for size, factor in zip(self.unit_sizes, factors.sizes)]

    @staticmethod
    def few(faults, most=3):
        return "; ".join(faults[:most]) + (f"; and {len(faults) - most} more" if len(faults) > most else "")

    def facts(self, file):
        """Time, units, names of the parts (its own, if it is the only one), particles in all parts."""
        header = dict(file["Header"].attrs)
        known = dict(header)
        for group in ("Units", "Parameters"):
            if group in file:
                known.update(file[group].attrs)
        time = float(np.ravel(header["Time"])[0]) if "Time" in header else 0.0
        # different ones
        classes = [known[name] for name in (f"SofteningComovingClass{k}" for k in range(6)) if name in known]
        own = classes or [known["Softening"]] if "Softening" in known else []
        self.softening = float(np.ravel(own[0])[0]) if len(own) == 1 else None
        self.softenings = softenings(known)
        self.comoving = bool(number(known, "ComovingIntegrationOn", 0)) or known.get("Comoving") in (b"on", "on")
        self.gravity = next((float(np.ravel(known[name])[0])
                             for name in ("GravityConstantUsed", "GravityConstantInternal")
                             if name in known and np.ravel(known[name])[0] > 0), None)
        sizes = [float(np.ravel(known.get(f"Unit{name}", 0))[0]) for name in ("Length_in_cm", "Mass_in_g",
                                                                             "Velocity_in_cm_per_s")]
        self.unit_sizes = sizes if min(sizes) > 0 else None
        # of an external field; None: there is one, and a version before 2026-11 did not state it
        fields = [name for name in [f"Potential{k}" for k in range(1, 9)] + ["TidalField", "Agama"] if name in known
                  and (str(known[name], "utf-8") if isinstance(known[name], bytes) else known[name])]
        in_field = bool(fields)
        if "TidalField" in fields:
            self.omega, self.tide = tidal(known["TidalField"])
        stated = known.get("ExternalPotentialEnergy")
        self.field_energy = float(np.ravel(stated)[0]) if stated is not None else None if in_field else 0.0
        self.field_moves = bool(number(known, "ExternalPotentialMoves", 0))
        parts = virtual_parts(file, os.path.dirname(os.path.realpath(self.path)) if os.path.islink(self.path)
                              else os.path.dirname(self.path))
        files = number(header, "NumFilesPerSnapshot", 1)
        if not parts and files > 1:
            name = PART.match(self.path)
            if not name:
                raise Fault(f"says that it is one of {files} files, but its name has no number (NAME.K.hdf5, NAME.K)")
            if files > 1000000:
                raise Fault(f"is damaged: it says that it is one of {files} files")
            parts = [f"{name['stem']}.{k}{name['ending']}" for k in range(files)]
        try:
            self.factors = Factors(known, bool(Units(known).length), self.comoving)
        except ValueError as fault:
            raise Fault(str(fault)) from None
        return time, Units(self.factors.facts), parts or [self.path], counts(header, "NumPart_Total")

    def check(self, types):
        if not sum(len(mass) for mass in self.mass.values()):
            fail(f"{self.path} has no particles" + (f" of type {', '.join(map(str, types))}" if types else ""))
        if not sum(mass.sum() for mass in self.mass.values()) > 0:
            fail(f"{self.path}: its particles have no mass")

    def all(self):
        return np.concatenate(list(self.pos.values())), np.concatenate(list(self.mass.values()))

    def time_text(self):
        return self.units.time_text(self.time) + (" (parts missing)" if self.incomplete else "")


def of_folder(folder):
    """The snapshots of a run's folder, or the one whose parts it holds."""
    try:
        names = sorted(os.listdir(folder), key=natural)
    except OSError as error:
        fail(f"{folder} cannot be read: {error.strerror}")
    found = [os.path.join(folder, name) for name in names if NUMBERED.match(name)]
    if not found:
        sets = {PART.match(name)["stem"]: os.path.join(folder, name) for name in reversed(names)
                if PART.match(name) and PART.match(name)["ending"]}
        found = sorted(sets.values(), key=natural)
    if not found:
        found = [path for path in (os.path.join(folder, name) for name in names if BINARY.match(name))
                 if os.path.isfile(path) and is_binary(path)]
    if not found:   # folders of parts alone, as GADGET-4 leaves them
        found = [path for name in names if re.fullmatch(r"snapdir_\d+", name)
                 for path in of_folder(os.path.join(folder, name))]
    if not found:
        fail(f"{folder} is a folder without snapshots (files whose names end in _NNN.hdf5, or in _NNN or "
             "_NNN.0 in GADGET's binary formats)")
    return found


def snapshot_paths(given):
    """Names of snapshots: a folder stands for those in it, NAME for the set NAME.0.hdf5, NAME.1.hdf5..., and so does
    each of them."""
    found = {}
    for path in given:
        if os.path.isdir(path):
            chosen = of_folder(path)
        elif not os.path.exists(path) and os.path.isdir(os.path.dirname(path) or "."):
            folder = os.path.dirname(path)
            parts = [name for name in os.listdir(folder or ".") if (m := PART.match(name)) and m["stem"]
                     == os.path.basename(path)]
            chosen = [os.path.join(folder, min(parts, key=natural))] if parts else [path]
        else:
            chosen = [path]
        for name in chosen:
            part = PART.match(name)
            found.setdefault(part["stem"] if part and not alone(name) else name, name)
    return list(found.values())


def alone(path):
    """Whether it says that it is the whole of a snapshot, in spite of a name like a part's."""
    try:
        return careful(path, lambda file: number(file["Header"].attrs, "NumFilesPerSnapshot", 1)) == 1
    except Fault:
        return False


def add_snapshots(parser):
    parser.add_argument("snapshots", nargs="+", metavar="SNAPSHOT|FOLDER",
                        help="snapshots (HDF5, GADGET 1 and 2, TIPSY), one of the parts of each, or folders of them")
    parser.add_argument("--partial", action="store_true",
                        help="draw snapshots of which parts are missing, with a warning")
    add_units(parser)


def evenly(paths, most):
    """At most so many of them, the first and the last among them."""
    if len(paths) <= most:
        return paths
    return [paths[i] for i in np.unique(np.linspace(0, len(paths) - 1, most).round().astype(int))]


def add_most(parser, default):
    parser.add_argument("--most", type=int, default=default,
                        help="so many snapshots at most are drawn (default: %(default)s)")


def check_most(parser, arguments, largest):
    if not 1 <= arguments.most <= largest:
        parser.error(f"--most must be 1 to {largest}")


def chosen_snapshots(arguments):
    """The snapshots that are drawn."""
    paths = snapshot_paths(arguments.snapshots)
    chosen = evenly(paths, arguments.most)
    if len(chosen) < len(paths):
        print(f"drawn: {len(chosen)} of {len(paths)} snapshots, at even distances (--most {len(paths)} draws all)")
    return chosen
