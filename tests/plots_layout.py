#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""plots_layout.py TOOLS KIND ARGUMENT...: draw a plot and look at what is drawn where. A legend or text that lies over
data or over another text, a colour bar over other axes, text beyond the picture's edge or too small, axes without
labels, a logarithmic axis without numbers, a picture of unreasonable size: each is a line of output, and exit status 1.
Prints the size and the words of the picture otherwise."""
import os
import sys

tools, kind = sys.argv[1], sys.argv[2]
sys.path.insert(0, tools)
import plotting  # noqa: E402
from plotting import np  # noqa: E402

figures = []
plotting_save = plotting.save


def keep(figure, paths):
    plotting_save(figure, paths)
    figures.append(figure)


plotting.save = keep
script = __import__(f"plot_{kind}")
sys.argv = [f"plot_{kind}.py"] + sys.argv[3:]
script.main()
faults, figure = [], figures[0]
renderer = figure.canvas.get_renderer()
if hasattr(figure, "draw_without_rendering"):   # which matplotlib has since 3.5, and takes half the time
    figure.draw_without_rendering()
else:
    figure.draw(renderer)


def box(thing):
    return thing.get_window_extent(renderer)


def overlap(a, b, least=1.0):
    """Boxes that share more than a pixel each way."""
    return min(a.x1, b.x1) - max(a.x0, b.x0) > least and min(a.y1, b.y1) - max(a.y0, b.y0) > least


def named(thing):
    text = (thing.get_text() if hasattr(thing, "get_text")
            else "legend of " + ", ".join(t.get_text() for t in thing.get_texts()))
    return repr(text)


def data_in(axes, area):
    """Whether lines, bars or points of the axes lie in a box."""
    frame = axes.bbox
    for line in axes.lines:
        points = (axes.transData.transform(line.get_xydata()) if line.get_transform() == axes.transData
                  else line.get_transform().transform(line.get_xydata()))
        points = points[np.isfinite(points).all(axis=1)]
        for a, b in zip(points[:-1], points[1:]) if len(points) > 1 else [(p, p) for p in points]:
            way = a + (b - a) * np.linspace(0, 1, 40)[:, None]
            inside = (way[:, 0] > area.x0) & (way[:, 0] < area.x1) & (way[:, 1] > area.y0) & (way[:, 1] < area.y1)
            if (inside & (way[:, 1] <= frame.y1) & (way[:, 0] <= frame.x1) & (way[:, 0] >= frame.x0)).any():
                return True
    for patch in list(axes.patches) + list(axes.collections) + list(axes.images):
        extent = box(patch)
        if overlap(extent, area) and overlap(frame, area):
            return True
    return False


def visible_texts():
    """All texts but ticks' and legends'."""
    texts = list(figure.texts) + ([figure._suptitle] if figure._suptitle else [])
    for axes in figure.axes:
        if axes.get_visible():
            texts += [axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label,
                      axes.xaxis.get_offset_text(), axes.yaxis.get_offset_text(), *axes.texts]
    return list({id(t): t for t in texts if t.get_visible() and t.get_text().strip()}.values())


def ticks(axis):
    shown = [tick.label1 for tick in axis.get_major_ticks() if tick.label1.get_visible() and tick.label1.get_text()]
    shown += [tick.label2 for tick in axis.get_major_ticks() if tick.label2.get_visible() and tick.label2.get_text()]
    return [label for label in shown if overlap(box(label), figure.bbox)]


legends = list(figure.legends)
for axes in figure.axes:
    if axes.get_visible() and axes.get_legend():
        legends.append(axes.get_legend())
texts = visible_texts()
for legend in legends:
    for axes in figure.axes:
        if axes.get_visible() and data_in(axes, box(legend)):
            faults.append(f"{named(legend)} lies over data")
things = texts + legends
for i, one in enumerate(things):
    for other in things[:i]:
        if overlap(box(one), box(other)):
            faults.append(f"{named(one)} and {named(other)} lie over each other")
shown_axes = [axes for axes in figure.axes if axes.get_visible()]
for bar in shown_axes:
    if bar.get_label() == "<colorbar>":
        for axes in shown_axes:
            if axes is not bar and overlap(box(bar), box(axes)):
                faults.append(f"the colour bar {bar.get_ylabel()!r} lies over "
                              f"{axes.get_ylabel() or axes.get_title(loc='left')!r}")
for thing in things:
    area = box(thing)
    if area.x0 < -1 or area.y0 < -1 or area.x1 > figure.bbox.x1 + 1 or area.y1 > figure.bbox.y1 + 1:
        faults.append(f"{named(thing)} goes beyond the edge")
for text in texts + [t for legend in legends for t in legend.get_texts()]:
    if text.get_fontsize() < 7.5:
        faults.append(f"{named(text)} is too small")
# what an axis is labelled by may stand at another that shares its row or column
labelled = {"x": [a for a in figure.axes if a.get_xlabel()], "y": [a for a in figure.axes if a.get_ylabel()]}
for axes in figure.axes:
    if not axes.get_visible():
        continue
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        if not axis.get_visible():   # the other one of two that share it
            continue
        shown = ticks(axis)
        if shown and not any(abs(getattr(a.bbox, name + "0") - getattr(axes.bbox, name + "0")) < 2
                             for a in labelled[name]) and \
                not any(not label.get_text().replace("−", "").replace(".", "").isdigit() for label in shown):
            faults.append(f"numbers without a label at the {name} axis of {axes.get_title(loc='left')!r}")
        low, high = sorted(getattr(axes, f"get_{name}lim")())
        # those beyond the ends are not drawn
        numbers = [t for t in axis.get_majorticklocs() if low <= t <= high] if shown else []
        numbers += [t.label1 for t in axis.get_minor_ticks() if t.label1.get_visible() and t.label1.get_text()]
        if axis.get_scale() == "log" and len(numbers) < 2 and axes.get_label() != "<colorbar>":
            faults.append(f"{len(numbers)} numbers at the logarithmic {name} axis of {axes.get_title(loc='left')!r}")
        for a, b in zip(shown, shown[1:]):
            if overlap(box(a), box(b)):
                faults.append(f"ticks {a.get_text()} and {b.get_text()} of {axes.get_title(loc='left')!r} lie over "
                              "each other")
width, height = figure.get_size_inches()
if max(width, height) > 17.5 or width / height > 4.5 or height / width > 2.5:
    faults.append(f"the picture is {width:.1f} x {height:.1f} inches")
for fault in sorted(set(faults)):
    print(fault)
print("size", round(width, 2), round(height, 2))
for text in texts + [t for legend in legends for t in (legend.get_title(), *legend.get_texts()) if t.get_text()]:
    print("text", text.get_text().replace("\n", " "))
print("axes", sum(a.get_visible() for a in figure.axes))
sys.exit(bool(faults))
