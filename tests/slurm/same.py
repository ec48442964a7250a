# SPDX-License-Identifier: GPL-3.0-or-later
"""same.py A B: exit status 0 where two snapshots hold the same bits: all datasets, and all attributes of /Header."""
import sys

import h5py


def datasets(file):
    found = {}
    file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


try:
    one, other = (h5py.File(name, "r") for name in sys.argv[1:3])
except OSError as error:
    sys.exit(str(error))
with one, other:
    a, b = datasets(one), datasets(other)
    if sorted(a) != sorted(b):
        sys.exit(f"{sys.argv[2]} has other datasets than {sys.argv[1]}")
    differ = [name for name in a if a[name].tobytes() != b[name].tobytes()]
    x, y = (dict(file["Header"].attrs) for file in (one, other))
    differ += [f"Header/{name}" for name in x if str(x[name]) != str(y.get(name))]
    if differ:
        sys.exit(f"{sys.argv[2]} differs from {sys.argv[1]} in {', '.join(differ)}")
