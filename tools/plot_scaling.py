#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scaling studies (scaling.csv of jobscripts/scaling): time of a soft step and efficiency against the number of ranks,
strong and weak; time by phase; bytes and messages; imbalance. Points are medians of the repeats, with bars from the
fastest to the slowest. The phases of a strong study are drawn as shares, because the seconds of many ranks are too few
to be seen. With --report the efficiencies of POP, node hours and joules of scaling-report.csv are drawn too."""
import argparse

from plotting import (COLOURS, Help, Table, add_output, area_style, fail, legend_above, legend_beside, np, outputs, plt,
                      program, save, start, table_path)

WORDS = ["study", "date", "hosts", "processor", "clock", "gpu", "version", "revision", "backend"]
NEEDED = ["study", "ranks", "particles", "seconds", "bytes_per_rank", "messages_per_rank", "wait", "hidden",
          "imbalance", "imbalance_seconds"]
TITLES = {"strong": "strong: as many particles in all", "weak": "weak: as many particles on a rank"}


class Study:
    """The rows of one study, by number of ranks: medians over the repeats, and the fastest and the slowest."""

    def __init__(self, table, name):
        mine = table.words["study"] == name
        self.name, self.table, self.mine = name, table, mine
        self.all = table["ranks"][mine]
        self.ranks = np.unique(self.all)
        self.repeats = min(int((self.all == p).sum()) for p in self.ranks)
        self.seconds = self.median("seconds")
        self.least, self.most = self.by_ranks("seconds", np.min), self.by_ranks("seconds", np.max)
        self.particles = self.median("particles")

    def by_ranks(self, column, of):
        values = self.table[column][self.mine]
        return np.array([of(values[self.all == p]) for p in self.ranks])

    def median(self, column):
        return self.by_ranks(column, np.median)

    def ideal(self):
        """Seconds for ideal scaling from the smallest number of ranks."""
        return self.seconds[0] * (self.ranks[0] / self.ranks if self.name == "strong" else np.ones(len(self.ranks)))

    def efficiency(self):
        return self.ideal() / self.seconds


def rank_labels(axis, places, ranks, most=8):
    """A number at every tick, or at every second or third."""
    stride = -(-len(ranks) // most)
    axis.set_xticks(places, [f"{p:.0f}" if i % stride == 0 else "" for i, p in enumerate(ranks)])
    axis.minorticks_off()
    axis.set_xlabel("ranks")


def ranks_axis(axis, ranks, ylabel, title):
    axis.set_xscale("log", base=2)
    rank_labels(axis, ranks, ranks)
    axis.set_ylabel(ylabel)
    axis.set_title(title, pad=22)   # the legend stands below


def key(axis, studies, **styles):
    """What colours mean, and what lines of a style: legend above the axes."""
    lines = [plt.Line2D([], [], color=COLOURS[number], label=study.name) for number, study in enumerate(studies)]
    lines += [plt.Line2D([], [], color="0.35", label=name.replace("_", " "), **style) for name, style in styles.items()]
    legend_above(axis, handles=lines, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1))


def times(axis, studies, ranks):
    for number, study in enumerate(studies):
        bars = [study.seconds - study.least, study.most - study.seconds]
        axis.errorbar(study.ranks, study.seconds, yerr=bars, fmt="o-", capsize=3, color=COLOURS[number])
        axis.plot(study.ranks, study.ideal(), ":", color=COLOURS[number])
    axis.set_yscale("log")
    key(axis, studies, ideal={"linestyle": ":"})
    ranks_axis(axis, ranks, "seconds of a soft step", "time")


def efficiencies(axis, studies, ranks):
    for number, study in enumerate(studies):
        axis.plot(study.ranks, study.efficiency(), "o-", color=COLOURS[number])
    axis.axhline(1, color="grey", linewidth=0.8)
    axis.set_ylim(0, max(1.05, 1.05 * max(study.efficiency().max() for study in studies)))
    key(axis, studies)
    ranks_axis(axis, ranks, f"efficiency (1 on {ranks[0]:.0f} rank{'s' if ranks[0] > 1 else ''})", "efficiency")


def breakdown(axis, study):
    """Seconds by phase, stacked; phases that nowhere take 2 % are one. Strong: shares."""
    phases = [name for name in study.table.names if name.startswith("t_")]
    if not phases:
        fail(f"{study.table.path} has no column of seconds by phase (t_...)")
    strong = study.name == "strong"
    values = np.stack([study.median(name) for name in phases])
    share = values / np.maximum(values.sum(axis=0), 1e-300)
    if strong:
        values = 100 * share
    kept = [i for i in np.argsort(-values.sum(axis=1), kind="stable") if share[i].max() >= 0.02]
    rest = values[[i for i in range(len(phases)) if i not in kept]].sum(axis=0)
    rows = [(phases[i][2:], values[i]) for i in kept] + ([("the rest", rest)] if rest.sum() > 0 else [])
    base, at = np.zeros(len(study.ranks)), np.arange(len(study.ranks))
    for name, height in rows:
        axis.bar(at, height, bottom=base, width=0.8, edgecolor="white", linewidth=0.3, label=name, **area_style(name))
        base = base + height
    rank_labels(axis, at, study.ranks)
    axis.grid(axis="x", visible=False)
    handles, labels = axis.get_legend_handles_labels()
    legend_beside(axis, handles=handles[::-1], labels=labels[::-1], fontsize=8)
    axis.set(ylabel="share of the slowest ranks' seconds, %" if strong else "seconds of the slowest rank",
             title=TITLES.get(study.name, study.name))


def traffic(axis, studies, ranks):
    """Two or more ranks: bytes that a rank sends, and on the right how many messages they are."""
    other = axis.twinx()
    other.grid(False)
    other.spines["right"].set_visible(True)
    for number, study in enumerate(studies):
        some = study.ranks > 1
        axis.plot(study.ranks[some], study.median("bytes_per_rank")[some] / 1e6, "o-", color=COLOURS[number])
        other.plot(study.ranks[some], study.median("messages_per_rank")[some], "s--", color=COLOURS[number])
    key(axis, studies, MB={"marker": "o"}, messages={"marker": "s", "linestyle": "--"})
    for side in (axis, other):
        side.set_ylim(0, 1.05 * side.dataLim.ymax if np.isfinite(side.dataLim.ymax) and side.dataLim.ymax > 0 else 1)
    other.set_ylabel("messages a rank sends in a soft step")
    ranks_axis(axis, ranks, "MB a rank sends in a soft step", "sent")


def imbalances(axis, studies, ranks):
    for number, study in enumerate(studies):
        axis.plot(study.ranks, study.median("imbalance"), "o-", color=COLOURS[number])
        axis.plot(study.ranks, study.median("imbalance_seconds"), "s--", color=COLOURS[number])
    axis.set_ylim(1, max(1.02, 1 + 1.05 * (axis.dataLim.ymax - 1)))
    key(axis, studies, interactions={"marker": "o"}, seconds={"marker": "s", "linestyle": "--"})
    ranks_axis(axis, ranks, "maximum over mean of the ranks", "imbalance")


TREE = [("global_efficiency", "global", "o-"), ("parallel_efficiency", "parallel", "s-"),
        ("load_balance", "load balance", "^--"), ("serialisation", "serialisation", "v--"),
        ("transfer", "transfer", "D--"), ("computation_scaling", "computation", "x:")]


def tree(axis, report, name):
    """POP's efficiencies of a study."""
    mine = report.words["study"] == name
    for number, (column, label, style) in enumerate(TREE):
        axis.plot(report["ranks"][mine], report[column][mine], style, color=COLOURS[number], label=label)
    top = np.nanmax([1.0] + [np.nanmax(report[column][mine], initial=0) for column, _, _ in TREE])
    axis.axhline(1, color="grey", linewidth=0.8)
    axis.set_xscale("log", base=2)
    rank_labels(axis, report["ranks"][mine], report["ranks"][mine])
    axis.set(ylim=(0, 1.05 * top), ylabel="efficiency", title=f"{name}: efficiencies (POP)")
    legend_beside(axis, fontsize=8)


def costs(axis, report, names):
    """Node hours of a Gyr, or of a unit of time, and on the right joules of a soft step."""
    column = "node_hours_per_gyr" if np.isfinite(report["node_hours_per_gyr"]).any() else "node_hours_per_time"
    joules = np.isfinite(report["joules_per_step"]).any()
    other = axis.twinx() if joules else None
    for number, name in enumerate(names):
        mine = report.words["study"] == name
        axis.plot(report["ranks"][mine], report[column][mine], "o-", color=COLOURS[number], label=name)
        if joules:
            other.plot(report["ranks"][mine], report["joules_per_step"][mine], "s--", color=COLOURS[number],
                       label=name + ", joules")
    axis.set_xscale("log", base=2)
    ranks = np.unique(report["ranks"])
    rank_labels(axis, ranks, ranks)
    axis.set(ylim=(0, None), ylabel="node hours per " + ("Gyr" if column.endswith("gyr") else "unit of time"),
             title="cost")
    if joules:
        other.grid(False)
        other.set(ylim=(0, None), ylabel="joules of a soft step")
    handles = axis.get_legend_handles_labels()[0] + (other.get_legend_handles_labels()[0] if joules else [])
    axis.legend(handles=handles, fontsize=8, loc="lower right")


def print_study(study):
    print(f"{TITLES.get(study.name, study.name)} ({study.repeats} repeats or more)")
    print(f"{'ranks':>7} {'particles':>12} {'s/step':>10} {'spread':>7} {'speed-up':>9} {'efficiency':>10} "
          f"{'MB/rank':>9} {'imbalance':>9}")
    gain = study.seconds[0] / study.seconds * study.particles / study.particles[0]
    rows = zip(study.ranks, study.particles, study.seconds, study.most / np.maximum(study.least, 1e-300) - 1, gain,
               study.efficiency(), study.median("bytes_per_rank") / 1e6, study.median("imbalance"))
    for row in rows:
        print("%7.0f %12.0f %10.4g %6.1f%% %9.3f %10.3f %9.3f %9.3f" % (*row[:3], 100 * row[3], *row[4:]))


def draw(table, studies, report, paths):
    ranks = np.unique(table["ranks"])
    figure, axes = plt.subplots(3 if report else 2, 3, figsize=(16, 12.9 if report else 8.6), layout="constrained")
    if report:
        for study, axis in zip(studies, axes[2]):
            tree(axis, report, study.name)
        if len(studies) == 1:
            axes[2, 1].set_visible(False)
        costs(axes[2, 2], report, [study.name for study in studies])
    times(axes[0, 0], studies, ranks)
    efficiencies(axes[0, 1], studies, ranks)
    imbalances(axes[0, 2], studies, ranks)
    for study, axis in zip(studies, axes[1]):
        breakdown(axis, study)
    if len(studies) == 1:
        axes[1, 1].set_visible(False)
    traffic(axes[1, 2], studies, ranks)
    known = [word for name in ("version", "revision", "backend", "processor", "gpu")
             for word in sorted(set(table.words[name])) if word != "-"]
    figure.suptitle("scaling" + (": " + ", ".join(known[:6]) if known else ""), x=0.01, ha="left")
    save(figure, paths)


def main():
    parser = argparse.ArgumentParser(prog=program(), description=__doc__, formatter_class=Help)
    parser.add_argument("table", metavar="DIR|TABLE.csv", help="folder with scaling.csv, or such a table")
    add_output(parser, "scaling.png")
    parser.add_argument("--report", metavar="REPORT.csv",
                        help="scaling-report.csv of the same study: efficiencies and costs")
    arguments = parser.parse_args()
    paths = outputs(arguments.output, "scaling.png")
    table = Table(table_path(arguments.table, "scaling.csv"), NEEDED, WORDS)
    names = [name for name in ("strong", "weak") if name in table.words["study"]]
    if not names:
        fail(f"{table.path}: no row of a strong or a weak study")
    if not (table["ranks"] > 0).all() or not (table["seconds"] > 0).all():
        fail(f"{table.path}: ranks and seconds must be above 0 in all rows")
    studies = [Study(table, name) for name in names]
    for study in studies:
        print_study(study)
    report = Table(arguments.report, ["study", "ranks", "repeats"], ["study"]) if arguments.report else None
    for column in ["node_hours_per_time", "node_hours_per_gyr",
                   "joules_per_step"] + [column for column, _, _ in TREE] if report else []:
        if column not in report:
            fail(f"{report.path} has no column '{column}'")
    draw(table, studies, report, paths)


if __name__ == "__main__":
    start(main)
