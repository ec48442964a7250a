#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages between ranks. One run: bytes and messages of a soft step by phase, seconds waited and hidden, and who sends
to whom (CommLog = peers). Several runs: interactions and bytes per unit of simulated time and the largest energy error,
as ratios to the first run: the comparison of Watanabe & Nakasato (2014, fig. 7), in work and not in time. Tables of
'espalier study let -o' are
drawn as 'espalier-plot study' does."""
import argparse
import os
import re
import sys

from plotting import (AREAS, COLOURS, FEW_DECADES, Help, Table, Units, add_output, fail, legend_above, legend_on_top,
                      line_colours, narrow_locator, np, outputs, phase_number, plt, program, same_units, save, shown,
                      start, warn)

from matplotlib.colors import LogNorm  # after plotting, which finds a python3 that has it
from matplotlib.ticker import EngFormatter, MaxNLocator, NullFormatter

COMM = ["step", "time", "phase", "messages", "bytes", "bytes_largest_rank", "wait_mean", "hidden_mean",
        "collective_bytes", "collective_wait_mean", "rank", "peer"]
STEPS = ["step", "time", "dt_soft", "pairs_full", "pairs_hard", "level_0"]
MARKERS = "osD^vPX*"
BYTES = EngFormatter(unit="B")
COUNTS = EngFormatter(sep="")


class Run:
    """The tables of a folder. Step 0, what was sent before the first step, is left out everywhere."""

    def __init__(self, folder):
        if not os.path.isdir(folder):
            fail(f"{folder} is not there" if not os.path.exists(folder) else f"{folder} is not a folder")
        self.folder = folder
        self.name = os.path.basename(os.path.abspath(folder))

    def path(self, name):
        return os.path.join(self.folder, name)

    def ranks_of(self, table):
        match = re.search(r"(\d+) ranks?", table.comments)
        if not match:
            fail(f"{table.path} has no line that names the number of ranks ('# espalier ..., 4 ranks x ...')")
        return int(match.group(1))

    def read_comm(self):
        if not os.path.exists(self.path("comm.csv")):
            ranks = self.ranks_of(Table(self.path("steps.csv"))) if os.path.exists(self.path("steps.csv")) else 0
            why = {0: "no run has written here, or no tables of messages",
                   1: "on one rank nothing is sent, and it is not written"}
            fail(f"{self.path('comm.csv')} is not there: "
                 + why.get(ranks, f"the run on {ranks} ranks had CommLog = off"))
        table = Table(self.path("comm.csv"), COMM, words=["phase"])
        self.ranks, self.units = self.ranks_of(table), table.units
        self.phase = table.words["phase"]
        self.table, self.pairs = table, (table["rank"] >= 0) & (table["step"] > 0)
        whole = self.phase == "step"   # rows of the soft step itself, with its efficiencies
        self.sums = (table["rank"] < 0) & (table["step"] > 0) & ~whole
        self.efficiency = None
        if "parallel_efficiency" in table.names and whole.any():
            self.efficiency = np.average(table["parallel_efficiency"][whole], weights=table["seconds"][whole])
        if not self.sums.any():
            fail(f"{table.path} has no soft step yet")
        self.steps, first = np.unique(table["step"][self.sums], return_index=True)
        self.time = table["time"][self.sums][first] * table.units.time_size

    def phases(self):
        return list(dict.fromkeys(self.phase[self.sums]))

    def series(self, name, phase):
        """A number of each soft step; 0 where the phase has no row."""
        rows = self.sums & (self.phase == phase)
        values = np.zeros(len(self.steps))
        values[np.searchsorted(self.steps, self.table["step"][rows])] = self.table[name][rows]
        return values

    def mean(self, name, phase):
        return self.series(name, phase).mean()

    def matrix(self, phases):
        """Bytes of a soft step that rank (row) sends to peer (column)."""
        rows = self.pairs & np.isin(self.phase, phases)
        rank, peer = self.table["rank"][rows].astype(int), self.table["peer"][rows].astype(int)
        if len(rank) and max(rank.max(), peer.max()) >= self.ranks:
            fail(f"{self.table.path} has a pair of rank {max(rank.max(), peer.max())}, and the run had {self.ranks} "
                 "ranks")
        sent = np.zeros((self.ranks, self.ranks))
        np.add.at(sent, (rank, peer), self.table["bytes"][rows])
        return sent / len(self.steps)


# --- one run


def over_time(axis, run, name, phases, unit):
    """Each phase over the time, on a logarithmic axis; many steps are averaged in bins."""
    edges = np.unique(np.linspace(0, len(run.steps), min(len(run.steps), 150) + 1).astype(int))[:-1]
    counts = np.diff(np.append(edges, len(run.steps)))
    time = np.add.reduceat(run.time, edges) / counts
    total = 0
    for phase in phases:
        values = np.add.reduceat(run.series(name, phase), edges) / counts
        total = total + values
        number = phase_number(phase)
        axis.plot(time, np.where(values > 0, values, np.nan), "-" if number < len(AREAS) else "-.", markersize=4,
                  color="#B8A900" if AREAS[number % len(AREAS)] == "#F0E442" else AREAS[number % len(AREAS)],
                  marker=MARKERS[number % len(MARKERS)] if np.count_nonzero(values) <= 60 else None, label=phase)
    if len(phases) > 1:
        axis.plot(time, total, "--", color="0.4", linewidth=1, label="all", zorder=1)
    axis.set_yscale("log")
    top, low = total.max(), min(axis.dataLim.minposy, total.max())
    axis.set_ylim(max(low / 1.5, top * 1e-6), 2 * top)
    bottom, upper = axis.get_ylim()
    if np.log10(upper / bottom) < FEW_DECADES:
        axis.yaxis.set_major_locator(narrow_locator(np.log10(upper / bottom)))
    axis.yaxis.set_major_formatter(unit)
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axis.set(xlabel=Units.label("time", run.units.time_unit), ylabel=f"{name} of a soft step",
             title=f"{name}, all ranks")


def seconds(axis, run):
    """Waited and hidden, a bar a phase; mean over ranks and soft steps."""
    parts = [("hidden_mean", "on the way, hidden behind work", COLOURS[5]),
             ("wait_mean", "waited for messages", COLOURS[1]),
             ("collective_wait_mean", "waited in collectives", COLOURS[4])]
    rows = [[1e3 * run.mean(name, phase) for phase in run.phases()] for name, *_ in parts]
    values = np.array(rows)
    kept = np.argsort(values.sum(axis=0))
    kept = kept[values.sum(axis=0)[kept] > 0.005 * values.sum()]
    if len(kept):
        left = np.zeros(len(kept))
        for row, (_, label, colour) in zip(values[:, kept], parts):
            axis.barh(range(len(kept)), row, left=left, color=colour, edgecolor="white", linewidth=0.5,
                      label=f"{label}: {row.sum():.3g} ms")
            left += row
        axis.set_yticks(range(len(kept)), [run.phases()[i] for i in kept])
        axis.set_xlim(0, 1.05 * left.max())
        axis.grid(axis="y", visible=False)
        legend_above(axis, ncols=1, loc="lower left", bbox_to_anchor=(0, 1), fontsize=8)
    else:
        axis.annotate("none", (0.5, 0.5), xycoords="axes fraction", ha="center")
    axis.set(xlabel="milliseconds of a soft step, mean of the ranks")
    axis.set_title("waited, and hidden behind work", pad=44 if len(kept) else None)


def who_to_whom(figure, axis, run, phases):
    sent = run.matrix(phases)
    if not (sent > 0).any():
        fail(f"between ranks nothing was sent in {' and '.join(phases)}; phases with messages: "
             + ", ".join(p for p in run.phases() if run.mean("bytes", p) > 0))
    some = sent[sent > 0]
    wide = some.max() > 30 * some.min()
    norm = LogNorm(some.min(), some.max()) if wide else plt.Normalize(0, some.max())
    image = axis.imshow(np.where(sent > 0, sent, np.nan), norm=norm, cmap="viridis", interpolation="nearest")
    axis.set_facecolor("0.9")
    axis.grid(False)
    axis.spines[:].set_visible(False)
    if run.ranks <= 16:
        axis.set_xticks(range(run.ranks))
        axis.set_yticks(range(run.ranks))
    if run.ranks <= 8:
        short = EngFormatter(places=1, sep="")
        for (i, k), value in np.ndenumerate(sent):
            if value > 0:
                axis.text(k, i, short(value), ha="center", va="center", fontsize=8,
                          color="white" if norm(value) < 0.6 else "black")
    figure.colorbar(image, cax=axis.inset_axes([1.04, 0, 0.05, 1]), format=BYTES, label="bytes of a soft step, mean")
    axis.set(xlabel="to rank", ylabel="from rank", title="bytes from rank to rank: " + " + ".join(phases))


def means(axis, run, phases):
    """Where pairs were not logged: mean bytes by phase, of a mean rank and the busiest."""
    place = np.arange(len(phases))
    axis.barh(place + 0.2, [run.mean("bytes", p) / run.ranks for p in phases], 0.38, color=COLOURS[0],
              label="mean of the ranks")
    axis.barh(place - 0.2, [run.mean("bytes_largest_rank", p) for p in phases], 0.38, color=COLOURS[5],
              label="busiest rank")
    axis.set_yticks(place, phases)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(BYTES)
    axis.grid(axis="y", visible=False)
    axis.set_ylim(len(phases) - 0.5, -0.5)
    axis.set(xlabel="bytes a rank sends in a soft step, mean", title="bytes by phase")
    legend_above(axis, fontsize=8)


def chosen_phases(run, asked):
    busy = sorted((p for p in run.phases() if run.mean("bytes", p) > 0), key=lambda p: -run.mean("bytes", p))
    if not busy:
        fail(f"{run.table.path}: nothing was sent from one rank to another in any soft step")
    if asked is None:
        return busy, busy[:1]
    if not run.pairs.any():
        fail(f"{run.table.path} has no rows of pairs, which --phase draws: run with CommLog = peers")
    wanted = busy if asked == "all" else [word.strip() for word in asked.split(",")]
    for phase in wanted:
        if phase not in run.phases():
            fail(f"{run.table.path} has no phase '{phase}' (its phases: {', '.join(run.phases())}; or all)")
    return busy, wanted


def draw_run(run, asked, output):
    run.read_comm()
    busy, wanted = chosen_phases(run, asked)
    figure, axes = plt.subplots(2, 2, figsize=(12, 8), layout="constrained", gridspec_kw={"width_ratios": [1.15, 1]})
    over_time(axes[0, 0], run, "bytes", busy, BYTES)
    over_time(axes[0, 1], run, "messages", busy, COUNTS)
    axes[0, 1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="phase")
    seconds(axes[1, 0], run)
    if run.pairs.any():
        who_to_whom(figure, axes[1, 1], run, wanted)
    else:
        means(axes[1, 1], run, busy)
    figure.suptitle(f"{shown(run.name)}: {run.ranks} ranks, {len(run.steps)} soft "
                    f"step{'s' if len(run.steps) > 1 else ''}"
                    + ("" if run.efficiency is None else f", parallel efficiency {run.efficiency:.2f}"),
                    x=0.01, ha="left")
    save(figure, output)


# --- several runs


class Account:
    """What a run spent per unit of simulated time."""

    def __init__(self, folder):
        run = Run(folder)
        self.name, self.folder = run.name, folder
        steps = Table(run.path("steps.csv"), STEPS)
        energy = Table(run.path("energy.csv"), ["time", "total"])
        self.units, self.path = steps.units, steps.path
        self.ranks = run.ranks_of(steps)
        self.particles = int(sum(steps[name][0] for name in steps.names if re.fullmatch(r"level_\d+", name)))
        self.begin, self.end = steps["time"][0] - steps["dt_soft"][0], steps["time"][-1]
        self.span = steps["dt_soft"].sum()
        self.pairs = {"full": steps["pairs_full"].sum() / self.span, "hard": steps["pairs_hard"].sum() / self.span}
        if self.ranks == 1 and not os.path.exists(run.path("comm.csv")):
            self.bytes = {"LETs": 0, "substeps": 0, "the rest": 0}   # one rank sends nothing
        else:
            run.read_comm()
            sent = {phase: run.series("bytes", phase).sum() / self.span for phase in run.phases()}
            self.bytes = {"LETs": sent.pop("let_select", 0), "substeps": sent.pop("hard_let", 0)}
            self.bytes["the rest"] = sum(sent.values())
        self.pairs["all"], self.bytes["all"] = sum(self.pairs.values()), sum(self.bytes.values())
        total = energy.conserved_energy()
        if total[0] == 0:
            fail(f"{energy.path}: the energy at the start is 0, so there is no relative error")
        self.error = {"": np.abs((total - total[0]) / total[0]).max()}


def times(value, first):
    if value == 0 or first == 0:
        return "none" if value == 0 else ""
    ratio = value / first
    return f"×{ratio:.2f}" if 0.1 <= ratio < 100 else f"×{ratio:.2g}"


def grouped(axis, accounts, values, title, ylabel):
    """Groups of a bar for each run, with the ratio to the first run above; and the same as lines of text."""
    groups, lines = list(values[0]), []
    width = 0.8 / len(accounts)
    most = max(max(v.values()) for v in values)
    for number, (account, v) in enumerate(zip(accounts, values)):
        place = np.arange(len(groups)) + (number - (len(accounts) - 1) / 2) * width
        heights = [v[g] for g in groups]
        axis.bar(place, heights, 0.94 * width, color=line_colours(len(accounts))[number])
        for x, group in zip(place, groups):
            what = f"{title}{', ' + group if group else ''}"
            ratio = times(v[group], values[0][group]) if number else ""
            lines.append(f"{what:31} {account.label:24} {v[group]:11.4g}  {ratio.replace('×', 'x')}".rstrip())
            if number:
                axis.annotate(ratio, (x, v[group]), xytext=(0, 3), textcoords="offset points", ha="center",
                              fontsize=8, rotation=0 if len(accounts) < 4 else 90)
    axis.set_xticks(range(len(groups)), groups)
    axis.grid(axis="x", visible=False)
    axis.tick_params(axis="x", length=0)
    axis.set_ylim(0, 1.15 * most if most > 0 else 1)
    axis.set(title=title, ylabel=ylabel)
    return lines


def differences(accounts):
    """What makes the runs hard to compare, as sentences."""
    said = []
    for name, text in (("particles", "numbers of particles"), ("ranks", "numbers of ranks")):
        seen = [getattr(a, name) for a in accounts]
        if len(set(seen)) > 1:
            said.append(f"different {text}: {', '.join(map(str, seen))}")
    for name, text in (("begin", "start"), ("end", "end")):
        seen = [getattr(a, name) for a in accounts]
        if max(seen) - min(seen) > 0.01 * max(a.span for a in accounts):
            said.append(f"the runs {text} at different times: {', '.join(f'{t:.4g}' for t in seen)}")
    return said


def labels(accounts):
    unique = len({a.name for a in accounts}) == len(accounts)
    for account in accounts:
        account.label = account.name if unique else account.folder.rstrip("/")


def draw_comparison(folders, output):
    accounts = [Account(folder) for folder in folders]
    labels(accounts)
    same_units(accounts)
    per = f"per {accounts[0].units.time}" if accounts[0].units.time else "per unit of time"
    figure, axes = plt.subplots(1, 3, figsize=(13, 5.4), layout="constrained",
                                gridspec_kw={"width_ratios": [3, 4, 1.2 + 0.2 * len(accounts)]})
    lines = grouped(axes[0], accounts, [a.pairs for a in accounts], "interactions", f"interactions {per}")
    axes[0].yaxis.set_major_formatter(COUNTS)
    axes[0].set_xticks(range(3), ["synchronisations\n(full)", "substeps\n(hard)", "all"])
    lines += grouped(axes[1], accounts, [a.bytes for a in accounts], "bytes between ranks", f"bytes {per}")
    axes[1].yaxis.set_major_formatter(BYTES)
    axes[1].set_xticks(range(4), ["trees\n(let_select)", "substeps\n(hard_let)", "other\nphases", "all"])
    lines += grouped(axes[2], accounts, [a.error for a in accounts], "energy error", r"largest $|\Delta E / E_0|$")
    errors = [a.error[""] for a in accounts if a.error[""] > 0]
    if errors:
        axes[2].set_yscale("log")
        axes[2].set_ylim(10 ** np.floor(np.log10(min(errors)) - 0.15), 10 ** np.ceil(np.log10(max(errors)) + 0.15))
    notes = differences(accounts)
    for note in notes:
        warn(note)
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour, label=shown(account.label))
               for account, colour in zip(accounts, line_colours(len(accounts)))]
    legend_on_top(figure, handles, "\n".join([f"× is the ratio to {shown(accounts[0].label)}"] + notes), most=5)
    save(figure, output)
    print("\n".join(lines))


# --- which of the three


def header_of(path):
    """Names of the columns of a file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            line = next((text for text in file if text.strip() and not text.startswith("#")), "")
    except OSError as error:
        fail(f"{path} cannot be read: {error.strerror}")
    return [name.strip() for name in line.split(",")]


def draw_study(tables, output):
    try:
        import plot_study
    except ImportError:
        fail(
            f"{tables[0]} is a table of 'espalier study', and plot_study.py, which draws it, is not beside this script")
    sys.argv[1:] = [word for path in output or [] for word in ("-o", path)] + ["--"] + tables
    plot_study.main()


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    parser.add_argument("inputs", nargs="+", metavar="OUTPUTDIR|TABLE.csv",
                        help="folder of a run (or its comm.csv), folders of several "
                        "runs, or tables of 'espalier study let -o'")
    add_output(parser, "comm.png; of a study: study.png")
    parser.add_argument("--phase", metavar="PHASE,...|all",
                        help="whose bytes from rank to rank are drawn (default: that with most)")
    arguments = parser.parse_args()
    if arguments.output:
        outputs(arguments.output, None)
    folders, tables = [], []
    for path in arguments.inputs:
        if not os.path.isfile(path):
            folders.append(path)
            continue
        names = header_of(path)
        if "ranks" in names and "R1_over_R0" in names:
            tables.append(path)
        elif "phase" in names and "peer" in names:
            folders.append(os.path.dirname(path) or ".")
        else:
            fail(f"{path} is neither a folder of a run, its comm.csv, nor a table of 'espalier study let -o'")
    if tables and folders:
        fail(f"{tables[0]} is a table of 'espalier study' and {folders[0]} is not: draw them one after the other")
    if arguments.phase and (tables or len(folders) > 1):
        fail("--phase is for the plot of one run")
    if tables:
        draw_study(tables, arguments.output)
    elif len(folders) == 1:
        draw_run(Run(folders[0]), arguments.phase, outputs(arguments.output, "comm.png"))
    else:
        draw_comparison(folders, outputs(arguments.output, "comm.png"))


if __name__ == "__main__":
    start(main)
