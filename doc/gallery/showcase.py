#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Seconds of a core against the true error of the energy, of a star cluster with close encounters
(params/encounters.ini), for three ways to integrate: the hybrid with Hermite steps, block steps and shared steps.
Errors are direct sums over snapshots. Needs espalier and tests/true_energy in PATH."""
import argparse
import os
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "tools"))
from plotting import COLOURS, Help, add_output, legend_on_top, outputs, plt, save, start  # noqa: E402
from models import Model  # noqa: E402
from runs import Failed, Runner, Table, check_program, fail, unbeaten  # noqa: E402

SOFTENING = 1e-4
COLUMNS = ["scheme", "label", "true", "reported", "seconds", "soft_steps"]
HERMITE = ["Split:Mode=hybrid", "Steps:Integrator=hermite", "Gravity:MultipoleOrder=2"]
BLOCK = ["Split:Mode=tree", "Steps:Scheme=block", "Time:MaxSizeTimestep=0.03125"]
SHARED = ["Split:Mode=tree", "Steps:Scheme=shared"]
# scheme, how the label of a run begins, name in the legend, colour, marker
KINDS = [("hybrid, Hermite", "", "hybrid, Hermite", COLOURS[1], "D"), ("shared", "", "shared", COLOURS[2], "o"),
         ("block", "by a,", "block, by acceleration", COLOURS[0], "s"),
         ("block", "by a and v,", "block, default criterion", COLOURS[5], "^")]


def runs(small):
    """(scheme, label, parameters)"""
    for error in ("1e-5",) if small else ("1e-3", "1e-4", "1e-5", "1e-6"):
        yield "hybrid, Hermite", f"EnergyError = {error}", HERMITE + [f"Split:EnergyError={error}"]
    for eta in ("8",) if small else ("4", "2", "1"):
        yield "block", f"by a and v, Eta = {eta}", BLOCK + [f"Steps:Eta={eta}"]
    for eta in () if small else ("0.5", "0.2", "0.1", "0.05", "0.025"):
        yield "block", f"by a, Eta = {eta}", BLOCK + ["Steps:Criterion=a", f"Steps:Eta={eta}"]
    for power in (8,) if small else (11, 12, 13):
        yield "shared", f"steps of 2^-{power}", SHARED + [f"Steps:FixedStep={2.0**-power!r}"]


def draw(rows, particles, paths):
    figure, axis = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for scheme, label, name, colour, marker in KINDS:
        mine = [dict(r, error=r["true"]) for r in rows if r["scheme"] == scheme and r["label"].startswith(label)]
        best = unbeaten(mine)
        axis.plot([r["error"] for r in best], [r["seconds"] for r in best], "-", color=colour)
        axis.plot([r["error"] for r in mine], [r["seconds"] for r in mine], marker, color=colour, linestyle="none",
                  label=name)
    axis.set(xscale="log", yscale="log", xlabel=r"true $|\Delta E / E_0|$", ylabel="seconds of a core per unit of time",
             title=f"Star cluster, {particles} stars, softening {SOFTENING:g}")
    legend_on_top(figure, axis.get_legend_handles_labels()[0], most=2)
    save(figure, paths)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Help)
    parser.add_argument("--small", action="store_true", help="few stars, one run of each scheme, for a test")
    parser.add_argument("--table", metavar="FILE", help="write the runs to this CSV file")
    parser.add_argument("--continue", dest="keep", action="store_true", help="keep the runs that the table has already")
    add_output(parser, "showcase.png")
    options = parser.parse_args()
    paths = outputs(options.output, "showcase.png")
    for program in "espalier", "true_energy":
        check_program(program)
    os.environ["OMP_NUM_THREADS"] = "1"
    particles, length = (256, 0.125) if options.small else (4096, 1.0)
    make = ["king", "--w0", "6", "-n", str(particles), "--mass-function", "kroupa", "--mass-max", "10"]
    model = Model("cluster", particles, SOFTENING, 1.0, make=make)
    runner = Runner("espalier", true="true_energy", snapshots=5, force=True, cpu_time=True)
    table = Table(options.table, COLUMNS, options.keep)
    print("| scheme | | true dE/E | reported | soft steps | core seconds |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        try:
            runner.make(model, folder)
            for scheme, label, parameters in runs(options.small):
                if table.find(dict(scheme=scheme, label=label)):
                    continue
                row = dict(runner.run(model, length, parameters), scheme=scheme, label=label)
                table.add(row)
                print(f"| {scheme} | {label} | {row['true']:.2e} | {row['reported']:.2e} | {row['soft_steps']:.0f} | "
                      f"{row['seconds']:.3g} |", flush=True)
        except Failed as problem:
            fail(problem.reason())
    draw(table.rows, particles, paths)


if __name__ == "__main__":
    start(main)
