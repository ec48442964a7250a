#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes and messages from rank to rank in a soft step, of a table of espalier study let --pairs: soft forces on the
left, hard ones on the right."""
import argparse
import csv
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "tools"))
from plotting import Help, add_output, fail, np, outputs, plt, save, start  # noqa: E402
from matplotlib.colors import LogNorm  # noqa: E402

PANELS = ("let_select", "soft part, once"), ("hard_let", "hard part, all substeps")


def matrices(path):
    """Bytes by phase, rank, peer."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    if not rows:
        fail(f"{path}: expected rows of espalier study let --pairs")
    ranks = int(rows[0]["ranks"])
    result = {phase: np.zeros((ranks, ranks)) for phase, _ in PANELS}
    for row in rows:
        if row["phase"] in result:
            result[row["phase"]][int(row["rank"]), int(row["peer"])] += float(row["bytes"])
    return rows[0], result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Help)
    parser.add_argument("table", metavar="PAIRS.csv")
    add_output(parser, "matrix.png")
    options = parser.parse_args()
    paths = outputs(options.output, "matrix.png")
    first, bytes_of = matrices(options.table)
    values = np.concatenate([m[m > 0] for m in bytes_of.values()])
    if not len(values):
        fail(f"{options.table}: no messages of {' or '.join(phase for phase, _ in PANELS)}")
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 4), layout="constrained", sharey=True)
    for axis, (phase, title) in zip(axes, PANELS):
        image = axis.pcolormesh(np.ma.masked_equal(bytes_of[phase], 0), norm=LogNorm(values.min(), values.max()),
                                cmap="viridis")
        share = np.count_nonzero(bytes_of[phase]) / max(1, len(bytes_of[phase]) * (len(bytes_of[phase]) - 1))
        axis.set(title=f"{title}: {100 * share:.0f} % of pairs", xlabel="to rank", aspect="equal")
        axis.grid(False)
    axes[0].set_ylabel("from rank")
    figure.colorbar(image, ax=axes, label="bytes")
    figure.suptitle(f"Bytes of a soft step: {first['particles']} particles on {first['ranks']} ranks", fontsize=11)
    save(figure, paths)


if __name__ == "__main__":
    start(main)
