#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figure of README.md, doc/images/speed.svg: times of Espalier beside other codes, from the tables of
doc/performance.md and doc/star-clusters.md."""
import argparse
import os
import re
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "tools"))
from plotting import COLOURS, Help, add_output, fail, outputs, plt, save, start  # noqa: E402


def table(page, heading):
    """The cells of the first table below a heading, without its head."""
    path = os.path.join(here, "..", page)
    with open(path) as file:
        below = file.read().partition(f"\n## {heading}\n")[2]
    rows = re.search(r"(^\|.*\n)+", below, re.MULTILINE)
    if not rows:
        fail(f"{path}: expected a table below '{heading}'")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows.group(0).splitlines()[2:]]


def first_number(text):
    return float(re.search(r"[0-9.]+", text).group(0))


def median(errors):
    """5.15e-4 of '5.15e-4, 2.1e-3'."""
    return errors.split(",")[0]


def cases():
    """(panel, label, name of the other code, its time, ours)"""
    for model, peers, their_errors, ours, our_errors, _ in table("performance.md", "Forces"):
        yield ("force of $2^{23}$ particles on an H200 [ms]",
               f"{model}, median error\n{median(their_errors)} and {median(our_errors)}", "Bonsai, Ryoanji",
               float(peers), float(ours))
    for number, gothic, ours in table("performance.md", "Block steps"):
        yield ("block step of Andromeda on an H200 [ms]", f"$2^{{{number.split('^')[1]}}}$ particles", "GOTHIC",
               float(gothic), float(ours))
    for case, petar, ours in table("star-clusters.md", "Beside PeTar"):
        if case.startswith("Plummer 16384"):
            error = [re.search(r"\(([0-9.e-]+)\)", cell).group(1) for cell in (petar, ours)]
            softening = re.search(r"softening ([0-9.e-]+)", case).group(1)
            yield ("16,384 stars, two CPU cores [s]", f"softening {softening}, true\nerror {error[0]} and {error[1]}",
                   "PeTar", first_number(petar), first_number(ours))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Help)
    add_output(parser, "speed.svg")
    paths = outputs(parser.parse_args().output, "speed.svg")
    plt.rcParams["svg.hashsalt"] = "speed"   # the same file each time
    panels = {}
    for panel, *case in cases():
        panels.setdefault(panel, []).append(case)
    figure, axes = plt.subplots(1, len(panels), figsize=(11, 2.7), layout="constrained")
    for axis, (title, rows) in zip(axes, panels.items()):
        for k, (_, name, theirs, ours) in enumerate(rows):
            for time, colour, shift, label in (theirs, "0.65", -0.2, name), (ours, COLOURS[0], 0.2, "Espalier"):
                axis.barh(k + shift, time, 0.38, color=colour, label=label if k == 0 else None)
                axis.text(time, k + shift, f" {time:g}", va="center", fontsize=9)
        axis.set(yticks=range(len(rows)), ylim=(len(rows) - 0.45, -0.55), xlim=(0, 1.2 * max(max(r[2:]) for r in rows)))
        axis.set_yticklabels([r[0] for r in rows], fontsize=8)
        axis.set_title(title, fontsize=9)
        axis.grid(False)
        axis.tick_params(axis="y", length=0)
        axis.legend(fontsize=8, loc="lower right")
    save(figure, paths)


if __name__ == "__main__":
    start(main)
