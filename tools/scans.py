# SPDX-License-Identifier: GPL-3.0-or-later
"""calibrate-accuracy: the settings of each scan, the cheapest of them for a wanted error, the table of
src/params/accuracy.def, picture."""
import math

SCANS = "forces", "shared", "block", "hybrid"
COLUMNS = ["model", "particles", "softening", "time", "scan", "label", "delta", "order", "step", "eta", "xs", "r1",
           "error", "reported", "true", "seconds", "price", "soft_steps", "h", "evaluations_full", "evaluations_hard",
           "errors"]
VALUES = "delta", "order", "step", "eta", "xs", "r1"
NAMES = {1e-4: "coarse", 1e-5: "standard", 1e-6: "fine", 1e-7: "finest"}
# Of all scans, and of few settings: powers of 1/2 that are Delta, by the order of multipoles; shared steps in dh; Eta;
# R1, xs, Eta.
DELTAS = {False: {1: range(3, 18, 2), 2: range(1, 16, 2)}, True: {1: range(5, 15, 3), 2: range(3, 13, 3)}}
SHARED = {False: (16, 8, 4, 2, 1, 0.5, 0.25, 0.125), True: (8, 4, 2, 1, 0.5)}
BLOCK = {False: (4, 2.8, 2, 1.4, 1, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125), True: (2.8, 1.4, 0.7, 0.35)}
HYBRID = {False: ((1, 2), (0.05, 0.1, 0.2, 0.4, 0.8), (2, 1, 0.5, 0.25, 0.125)),
          True: ((1, 2), (0.1, 0.2, 0.4, 0.8), (2, 1, 0.5))}
BALANCED = 1.2, 25   # Eta over xs: beyond, one of the two steps is far shorter than the other one allows
EXACT = "exact"      # label of the runs with which the scan of forces is compared


def forces_words(delta, order):
    return [f"Gravity:ErrTolForceAcc={delta:.17g}", f"Gravity:MultipoleOrder={order}"]


def shared_words(step):
    return ["Split:Mode=tree", "Steps:Scheme=shared", f"Steps:FixedStep={step:.17g}"]


def block_words(eta):
    return ["Split:Mode=tree", "Steps:Scheme=block", f"Steps:Eta={eta:g}", "Split:xs=0.2", "Split:ys=0.135",
            "Split:R1OverR0=2"]


def hybrid_words(r1, xs, eta):
    return ["Split:Mode=hybrid", "Steps:Scheme=block", f"Steps:Eta={eta:g}", f"Split:xs={xs:g}",
            f"Split:ys={0.675 * xs:g}", f"Split:R1OverR0={r1:g}"]


def settings(scan, dh, tiny, few):
    """(label, values, parameters without forces, mean step in dh, about) of a scan; dh: the model's step (models.py),
    tiny: Eta of the scan of forces. The first run of this scan is that with exact forces."""
    if scan == "forces":
        yield EXACT, {}, block_words(tiny), tiny
        for order, powers in DELTAS[few].items():
            for power in powers:
                yield f"Delta = 2^-{power}, order {order}", dict(delta=2.0**-power,
                                                                 order=order), block_words(tiny), tiny
    elif scan == "shared":
        for k in SHARED[few]:
            yield f"dt = {k:g} dh", dict(step=k), shared_words(k * dh), k
    elif scan == "block":
        for eta in BLOCK[few]:
            yield f"eta = {eta:g}", dict(eta=eta), block_words(eta), eta
    else:
        all_r1, all_xs, etas = HYBRID[few]
        for r1 in all_r1:
            for xs in all_xs:
                for eta in (e for e in etas if BALANCED[0] <= e / xs <= BALANCED[1]):
                    yield (f"R1 = {r1:g} R0, xs = {xs:g}, eta = {eta:g}", dict(eta=eta, xs=xs, r1=r1),
                           hybrid_words(r1, xs, eta), eta)


def difference(errors, exact):
    """The largest difference of dE/E to the run with exact forces and the same steps: the error of the forces alone, as
    that of the steps is
    the same in both."""
    return max(abs(a - b) for a, b in zip(errors, exact))


def kind(row):
    """Settings of one kind have the same order of multipoles and R1; their errors fall with Delta, step, Eta and xs."""
    return row["order"], row["r1"]


def finer(a, b):
    """Whether a is as exact as b in every value, and of its kind."""
    return kind(a) == kind(b) and all(a[k] is None or a[k] <= b[k] for k in ("delta", "step", "eta", "xs"))


def rate(row):
    """The error per dynamical time, which is 1 in all models."""
    return row["error"] / row["time"]


def joined(rows):
    """The settings of a scan over all its models: values, label, the largest error per dynamical time, and the cost:
    the geometric mean over the models of the seconds over those of the model's cheapest setting. Settings that lack a
    model are left out."""
    rows = [r for r in rows if r["label"] != EXACT]
    models = {r["model"] for r in rows}
    least = {m: min(r["price"] for r in rows if r["model"] == m) for m in models}
    result = []
    for label in dict.fromkeys(r["label"] for r in rows):
        mine = [r for r in rows if r["label"] == label]
        if {r["model"] for r in mine} == models:
            cost = math.exp(sum(math.log(r["price"] / least[r["model"]]) for r in mine)
                            / len(mine)) if all(least.values()) else 1.0
            result.append(dict({k: mine[0][k] for k in VALUES}, label=label, error=max(rate(r) for r in mine),
                               cost=cost))
    return result


def cheapest(rows, wanted):
    """The cheapest setting with at most this error per dynamical time on all models; None if there is none. A setting
    counts only where all finer ones have at most this error too, so luck of one run does not count."""
    every = joined(rows)
    good = [s for s in every if all(f["error"] <= wanted for f in every if finer(f, s))]
    return min(good, key=lambda s: (s["cost"], s["error"])) if good else None


def finest(rows):
    """The setting with the smallest error on all models."""
    return min(joined(rows), key=lambda s: s["error"], default=None)


def table(rows, wanted, share):
    """For each wanted error per dynamical time: the cheapest setting of each scan, of forces also by order (1, 2).
    Forces may have `share` of the error, steps the rest. missing: scans in which no setting has so small an error,
    whose most exact one is taken; a scan without runs is left out."""
    result = []
    for error in wanted:
        line = dict(error=error, missing={})
        for name in SCANS + (1, 2):
            mine = [r for r in rows if (r["scan"] == "forces" and r["order"] == name if name in (1, 2)
                                        else r["scan"] == name)]
            if not mine or not joined(mine):
                continue
            most = error * (share if name in ("forces", 1, 2) else 1 - share)
            line[name] = cheapest(mine, most)
            if line[name] is None:
                line[name] = finest(mine)
                line["missing"][name] = line[name]["error"]
        result.append(line)
    return result


TITLES = {"forces": "forces", 1: "monopoles", 2: "quadrupoles", "shared": "shared step", "block": "without the split",
          "hybrid": "with the split"}


def missing(line, names):
    return ", ".join(f"{TITLES[n]} {line['missing'][n]:.1e}" for n in names if n in line["missing"])


def print_table(lines, title):
    names = [n for n in SCANS if any(n in line for line in lines)]
    print(f"\n{title}:\n\n| dE/E per dynamical time | " + " | ".join(TITLES[n] for n in names) + " |\n" + "|---"
          * (len(names) + 1) + "|")
    for line in lines:
        cell = lambda n: "-" if n not in line else line[n]["label"] + (f" (error {line['missing'][n]:.1e})"
                                                                       if n in line["missing"] else "")
        print(f"| {line['error']:g} | " + " | ".join(cell(n) for n in names) + " |")


def definition(line):
    """A line of src/params/accuracy.def. The name is that of the program for its four errors, else accuracy_ERROR."""
    name = next((n for e, n in NAMES.items() if math.isclose(e, line["error"], rel_tol=1e-6)),
                f"accuracy_{line['error']:g}")
    mono, quad, tree, split = line[1], line[2], line["block"], line["hybrid"]
    values = (f"{mono['delta']:.10g}, {quad['delta']:.10g}, {line['forces']['order']:g}, {tree['eta']:g}, "
              f"{split['eta']:g}, {split['xs']:g}")
    text = f"ACCURACY(\"{name}\", {line['error']:g}, {values}, {0.675 * split['xs']:g}, {split['r1']:g})"
    gaps = missing(line, (1, 2, "block", "hybrid"))
    return text + (f"   /* not reached: {gaps} */" if gaps else "")


def print_definitions(lines):
    if all(name in line for line in lines for name in (1, 2, "block", "hybrid")):
        print("\nLines of src/params/accuracy.def:\n")
        for line in lines:
            print(definition(line))


AXES = {"forces": ("delta", r"$\Delta$"), "shared": ("step", "step / dh"),
        "block": ("eta", r"$\eta$ without the split"), "hybrid": ("eta", r"$\eta$ with the split")}


def curves(rows, scan):
    """{(what the rest of the values is, model): rows by growing value} of a scan."""
    result = {}
    for r in sorted((r for r in rows if r["scan"] == scan and r["error"] > 0 and r["label"] != EXACT),
                    key=lambda r: r[AXES[scan][0]]):
        rest = (f"order {r['order']:g}" if scan == "forces" else f"R1 = {r['r1']:g} R0, xs = {r['xs']:g}"
                if scan == "hybrid" else "")
        result.setdefault((rest, r["model"]), []).append(r)
    return result


def style(i):
    return dict(marker="osD^v<>PXh"[i % 10], linestyle=("-", "--")[i % 2], markersize=4)


def picture(path, rows, lines):
    """A panel for each scan: error per dynamical time against the value, a colour for each model, a line style for each
    of the other values,
    and the wanted errors."""
    from plotting import legend_beside, legend_on_top, line_colours, plt, save
    scans = [s for s in SCANS if any(r["scan"] == s for r in rows)]
    models = list(dict.fromkeys(r["model"] for r in rows))
    colour = dict(zip(models, line_colours(len(models))))
    figure, axes = plt.subplots(1, len(scans), figsize=(4.4 * len(scans) + 0.4, 4.6), layout="constrained",
                                squeeze=False)
    handles = {}
    for axis, scan in zip(axes.flat, scans):
        found = curves(rows, scan)
        rests = sorted({rest for rest, _ in found})
        for (rest, model), mine in found.items():
            i = rests.index(rest)
            drawn, = axis.plot([r[AXES[scan][0]] for r in mine], [rate(r) for r in mine], color=colour[model],
                               linewidth=1, **style(i))
            handles.setdefault(model, drawn)
        for line in lines:
            axis.axhline(line["error"], color="0.7", linewidth=0.8, zorder=0)
        if len(rests) > 1:
            handles_of_rests = [plt.Line2D([], [], color="0.3", label=rest, **style(i)) for i, rest in enumerate(rests)]
            legend_beside(axis, handles=handles_of_rests,
                          fontsize=7) if len(rests) > 3 else axis.legend(handles=handles_of_rests, fontsize=7)
        axis.set(xscale="log", yscale="log", xlabel=AXES[scan][1], ylabel=r"true $|\Delta E / E_0|$ per dynamical time",
                 title=TITLES[scan])
    legend_on_top(figure, [plt.Line2D([], [], color=colour[m], label=m) for m in handles], most=6)
    save(figure, [path])
