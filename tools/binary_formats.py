# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of GADGET's formats 1 and 2, also those of sets, and of TIPSY, as HDF5 files in memory, which
snapshots.py reads."""
import os

from plotting import h5py, np

BLOCKS = ("Coordinates", "Velocities", "ParticleIDs", "Masses")
LABELS = {"POS ": BLOCKS[0], "VEL ": BLOCKS[1], "ID  ": BLOCKS[2], "MASS": BLOCKS[3]}
TIPSY = ((0, 12, 48), (1, 9, 36), (4, 11, 44))   # type, numbers and bytes of a record


def records(data, order):
    """The records of a file of Fortran."""
    at, out = 0, []
    while at < len(data):
        size = int.from_bytes(data[at:at + 4], order)
        if at + size + 8 > len(data):
            raise ValueError("is no file of GADGET: it is cut off")
        if data[at + size + 4:at + size + 8] != data[at:at + 4]:
            raise ValueError("is no file of GADGET: the lengths about a record differ")
        out.append(data[at + 4:at + 4 + size])
        at += size + 8
    return out


def in_memory(time, parts, table, total, files=1):
    """The HDF5 file; parts: {type: {name: array}}."""
    file = h5py.File(f"{os.urandom(8).hex()}.memory", "w", driver="core", backing_store=False)
    count = [len(parts[kind][BLOCKS[0]]) if kind in parts else 0 for kind in range(6)]
    file.create_group("Header").attrs.update(Time=time, MassTable=table, NumPart_ThisFile=count, NumPart_Total=total,
                                             NumFilesPerSnapshot=files)
    for kind, arrays in parts.items():
        for name, values in arrays.items():
            file[f"PartType{kind}/{name}"] = values
    return file


def split(block, count, columns, order, whole):
    """A block of reals or whole numbers of 4 or 8 bytes."""
    size = len(block) // max(count * columns, 1)
    if size not in (4, 8) or size * count * columns != len(block):
        raise ValueError(f"is no file of GADGET: a block has {len(block)} bytes for {count} particles")
    values = np.frombuffer(block, ("<" if order == "little" else ">") + ("u" if whole else "f") + str(size))
    return (values.reshape(-1, columns) if columns > 1 else values).astype("u8" if whole else "f8")


def gadget(data, order):
    """A file of format 1 or 2."""
    found = records(data, order)
    if len(found[0]) == 8:
        labels = [block[:4].decode("latin-1") for block in found[::2]]
        blocks = {LABELS.get(label, label): block for label, block in zip(labels, found[1::2])}
        header = blocks.get("HEAD", b"")
    else:
        header, blocks = found[0], dict(zip(BLOCKS, found[1:]))
    if len(header) != 256:
        raise ValueError(f"is no file of GADGET 1 or 2: its header has {len(header)} bytes, not 256")
    kind = "<" if order == "little" else ">"
    count, table = np.frombuffer(header, kind + "i4", 6), np.frombuffer(header, kind + "f8", 7, 24)
    files = int(np.frombuffer(header, kind + "i4", 1, 124)[0])   # npart, mass, time, redshift, 2 flags, total, cooling
    whole = count.astype("i8")
    if files > 1:   # of all files, in two words
        whole = np.frombuffer(header, kind + "u4", 6, 96).astype("i8")
        whole += np.frombuffer(header, kind + "u4", 6, 168).astype("i8") << 32
    total, with_mass = int(count.sum()), int(count[(count > 0) & (table[:6] == 0)].sum())
    if not total and files > 1 and whole.any():
        return in_memory(table[6], {}, table[:6], whole, files)
    if not 0 < total < 2**31 or (count < 0).any() or BLOCKS[0] not in blocks:
        raise ValueError("is no file of GADGET: it has no particles")
    arrays, parts, begin, of_mass = {}, {}, 0, 0
    for name in BLOCKS:
        if name in blocks and not (name == BLOCKS[3] and not with_mass):
            arrays[name] = split(blocks[name], with_mass if name == BLOCKS[3] else total,
                                 3 if name in BLOCKS[:2] else 1, order, name == BLOCKS[2])
    for k in np.flatnonzero(count):
        end = begin + int(count[k])
        parts[int(k)] = {name: arrays[name][begin:end] for name in BLOCKS[:3] if name in arrays}
        if table[k] == 0 and BLOCKS[3] in arrays:
            parts[int(k)][BLOCKS[3]] = arrays[BLOCKS[3]][of_mass:of_mass + int(count[k])]
            of_mass += int(count[k])
        begin = end
    return in_memory(table[6], parts, table[:6], whole, files)


def tipsy(data):
    """A file of TIPSY in single precision, or None."""
    for order in ">", "<":
        count = np.frombuffer(data, order + "i4", 5, 8).astype(int)   # all, dimensions, gas, dark, stars
        size = sum(n * record for n, (_, _, record) in zip(count[2:], TIPSY))
        if count[0] <= 0 or (count < 0).any() or count[1] != 3 or count[0] != count[2:].sum():
            continue
        if len(data) - size not in (28, 32):
            continue
        at, parts = len(data) - size, {}
        for n, (kind, numbers, record) in zip(count[2:], TIPSY):
            if n:
                rows = np.frombuffer(data, order + "f4", n * numbers, at).reshape(n, numbers).astype("f8")
                parts[kind] = {"Masses": rows[:, 0], "Coordinates": rows[:, 1:4], "Velocities": rows[:, 4:7]}
            at += n * record
        return in_memory(np.frombuffer(data, order + "f8", 1)[0], parts, np.zeros(6),
                         [len(parts[k]["Masses"]) if k in parts else 0 for k in range(6)])
    return None


def order_of(begin):
    """The byte order of a file of GADGET that begins so; None: it is none."""
    return next((order for order in ("little", "big") if int.from_bytes(begin[:4], order) in (8, 256)), None)


def is_binary(path):
    """Whether a file begins as one of GADGET's binary formats."""
    try:
        with open(path, "rb") as file:
            return order_of(file.read(4)) is not None
    except OSError:
        return False


def read_binary(path):
    """The file in memory; None: it is of neither format. ValueError: it is damaged, in words."""
    with open(path, "rb") as file:
        begin = file.read(32)
        if len(begin) < 32:
            return None
        order = order_of(begin)
        data = begin + file.read()
    return gadget(data, order) if order else tipsy(data)
