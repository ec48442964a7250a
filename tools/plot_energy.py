#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conservation: relative energy error, energies, and the drift of momentum, angular momentum and centre of mass, from
energy.csv of one or several runs."""
import argparse
import os

from plotting import COLOURS, Table, Units, np, plt, save, table_path


def drift(axis, time, vectors, title, unit, label, colour):
    """Length of the change of a vector since the start; relative where its length at the start is no rounding error."""
    change = np.linalg.norm(vectors - vectors[0], axis=1)
    axis.plot(time, change, color=colour, label=label)
    axis.set_title(title)
    axis.set_ylabel(Units.label("change since the start", unit))
    axis.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="OUTPUTDIR|energy.csv")
    parser.add_argument("-o", "--output", default="energy.png", help="image (default: %(default)s)")
    parser.add_argument("--log", action="store_true", help="|dE/E| on a logarithmic scale")
    arguments = parser.parse_args()

    needed = ["time", "kinetic", "potential", "total"] + [f"{v}_{a}" for v in ("momentum", "angular", "com") for a in "xyz"]
    runs = [Table(table_path(path, "energy.csv"), needed) for path in arguments.runs]
    units = runs[0].units
    figure, axes = plt.subplots(2, 3, figsize=(12, 6.2), sharex=True, layout="constrained")
    for number, run in enumerate(runs):
        colour = COLOURS[number % len(COLOURS)] if len(runs) > 1 else COLOURS[0]
        label = os.path.dirname(run.path) or run.path
        time, total = run["time"], run["total"]
        error = (total - total[0]) / abs(total[0]) if total[0] != 0 else total
        worst = np.abs(error).max()
        text = f"{label}: largest {worst:.1e}" if len(runs) > 1 else f"largest {worst:.1e}"
        if arguments.log:
            axes[0, 0].semilogy(time, np.where(np.abs(error) > 0, np.abs(error), np.nan), color=colour, label=text)
        else:
            axes[0, 0].plot(time, error, color=colour, label=text)
        style = ["-", "--", ":"]
        for (name, what), line in zip((("kinetic", "kinetic T"), ("potential", "potential W"), ("total", "total")), style):
            axes[0, 1].plot(time, run[name], line, color=colour if len(runs) > 1 else COLOURS[style.index(line)],
                            label=what if number == 0 else None)
        if (run["potential"] != 0).all():
            axes[0, 2].plot(time, -2 * run["kinetic"] / run["potential"], color=colour, label=label)
        angular = run.vector("angular")
        drift(axes[1, 0], time, run.vector("momentum"), "momentum", "", label, colour)
        start = np.linalg.norm(angular[0])
        # below that, the length at the start is rounding or chance, and a ratio to it would say nothing
        relative = start > 1e-3 * np.abs(np.linalg.norm(angular, axis=1)).max() and start > 1e-6
        drift(axes[1, 1], time, angular / start if relative else angular, "angular momentum" + (" / its start" if relative else ""),
              "", label, colour)
        drift(axes[1, 2], time, run.vector("com"), "centre of mass", units.length, label, colour)
    axes[0, 0].axhline(0, color="0.6", linewidth=0.8) if not arguments.log else None
    axes[0, 0].set_title("relative energy error")
    axes[0, 0].set_ylabel("$|\\Delta E / E_0|$" if arguments.log else "$\\Delta E / |E_0|$")
    axes[0, 0].ticklabel_format(axis="y", style="sci", scilimits=(-2, 3)) if not arguments.log else None
    axes[0, 0].legend()
    axes[0, 1].set_title("energies")
    axes[0, 1].legend()
    axes[0, 2].set_title("virial ratio $2T/|W|$")
    axes[0, 2].axhline(1, color="0.6", linewidth=0.8)
    if len(runs) > 1:
        axes[0, 2].legend()
    for axis in axes[1]:
        axis.set_xlabel(Units.label("time", units.time))
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
