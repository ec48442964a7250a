# SPDX-License-Identifier: GPL-3.0-or-later
"""schemes.py TOOLS FOLDER GROUP: one group of checks of the modules behind compare-schemes and calibrate-accuracy; exit
status 0 if it holds."""
import io
import math
import os
import subprocess
import sys
from contextlib import redirect_stderr

tools, folder, group = sys.argv[1:]
sys.path.insert(0, tools)
import models  # noqa: E402
import runs  # noqa: E402
import scans  # noqa: E402
import schemes  # noqa: E402


def row(error, seconds, **others):
    return dict(error=error, seconds=seconds, **others)


def says(fragment, function, *arguments):
    """The function ends the program with a sentence."""
    try:
        function(*arguments)
    except SystemExit as end:
        assert fragment in str(end.code), f"'{end.code}' lacks '{fragment}'"
        return
    raise AssertionError(f"no end with '{fragment}'")


def write(name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def interpolation():
    some = [row(1e-6, 100.0), row(1e-4, 1.0), row(1e-4, 3.0), row(1e-5, 200.0)]
    assert runs.unbeaten(some) == [some[0], some[1]]
    assert runs.seconds_within(some, 1e-7) is None and runs.seconds_within([], 1) is None
    assert math.isclose(runs.seconds_within(some, 1e-5), 10.0)   # half of the way in both logarithms
    assert math.isclose(runs.seconds_within(some, 1e-6), 100.0) and runs.seconds_within(some, 1e-2) == 1.0
    assert runs.seconds_within([row(0, 5.0), row(1e-3, 1.0)], 1e-5) == 5.0


def comparison():
    rows = [row(1e-5, 12.0, scheme="auto"), row(1e-6, 100.0, scheme="block"), row(1e-4, 1.0, scheme="block"),
            row(1e-5, 40.0, scheme="hybrid"), row(1e-7, 3.0, scheme="auto")]
    first, second = schemes.comparison(rows)
    assert first["seconds_of"]["shared"] is None and first["seconds_of"]["hybrid"] == 40.0
    assert math.isclose(first["best"], 10.0) and math.isclose(first["ratio"], 1.2)
    assert second["best"] is None and second["ratio"] is None


def choice():
    assert runs.chosen_scheme(folder) == ""
    for mode, scheme, expected in ("hybrid", "block",
                                   "hybrid"), ("tree", "shared", "shared"), ("tree", "block", "block"):
        write("parameters-used.ini", f"# Mode = x\n[Split]\nMode = {mode}\n[Steps]\nScheme = {scheme}\n")
        assert runs.chosen_scheme(folder) == expected
    head = "# of a run\nstep,time,candidate,R1OverR0,error,chosen\n"
    write("choice.csv", head + "1,0,shared,,1e-5,0\n1,0,hybrid,1,1e-5,1\n")
    assert runs.chosen_scheme(folder) == "hybrid, R1 = 1 R0"
    write("choice.csv", head + "1,0,shared,,1e-5,0\n1,0,hybrid,1,1e-5,1\n100,3,shared,,1e-5,1\n100,3,hybrid,1,1e-5,0\n")
    assert runs.chosen_scheme(folder) == "shared"
    write("choice.csv", head)
    assert runs.chosen_scheme(folder) == ""


def names():
    m = models.named("hernquist12")
    assert m.particles == 4096 and math.isclose(m.softening, 0.1 * 4096**
                                                -0.26) and m.make == ["hernquist", "-n", "4096", "-s", "1"]
    assert models.named("cold").particles == 20000 and models.named("cold").length(1) == 6 and models.named(
        "cold").length(10) == 10
    tiny = models.named("plummer17-1e-5", 3)
    assert tiny.softening == 1e-5 and tiny.criterion == "a" and tiny.eta_scale > 20
    assert tiny.name == "plummer17-1e-5-seed3"
    assert {s[0] for s in schemes.schemes(tiny.step, True, tiny.criterion, tiny.eta_scale)} == set(schemes.SCHEMES)
    for name in "plummer", "king99", "disk12", "", "plummer12-0", "plummer12-1e-":
        says("--models: ", models.named, name)
    assert [label for label, _ in schemes.forces("1e-3,0.5:2")] == [", Delta = 0.001", ", Delta = 0.5, order 2"]
    for text in "", "2", "1e-3:3", "x:1", "1e-3,":
        says("--forces: expected DELTA", schemes.forces, text)


def progress():
    seconds = iter((0, 10, 12, 13))
    p = runs.Progress([("a", 5), ("a", 10), ("b", 1), ("b", 2)], clock=lambda: next(seconds))
    assert p.left() is None
    with redirect_stderr(io.StringIO()) as said:
        p.step("x")
        assert math.isclose(p.left(), 10 * 2 + 3 * 2)   # 10 s for a weight of 5, also where a model has no run yet
        p.step("y")
        assert math.isclose(p.left(), 3 * 12 / 15)
        p.step("z")
        assert math.isclose(p.left(), 2 * 1)
    assert said.getvalue().splitlines()[0] == "[1/4] a x: 10 s, about 26 s left"
    assert [runs.duration(s) for s in (99, 600, 7200)] == ["99 s", "10 min", "2.0 h"]


def limit():
    pid = os.path.join(folder, "pid")
    assert runs.call(["sh", "-c", "echo out; echo err >&2; exit 3"]) == (3, "out\nerr\n")
    try:
        runs.call(["sh", "-c", f"sleep 100 & echo $! > {pid}.part; mv {pid}.part {pid}; wait"], 1)
        raise AssertionError("no end")
    except subprocess.TimeoutExpired:
        pass
    if os.path.exists(pid):   # else it did not come so far
        with open(pid) as file, open(os.devnull, "w") as nothing:
            child = int(file.read())
            assert subprocess.run(["kill", "-0", str(child)], stderr=nothing).returncode or zombie(child)


def zombie(pid):
    """Whether a process has ended, and nothing has asked how."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def tables():
    path, columns = os.path.join(folder, "table.csv"), ["model", "label", "error"]
    table = runs.Table(path, columns)
    table.add(dict(model="a", label="x, y", error=0.1, other=3))
    table.add(dict(model="b", label="z", error=None))
    again = runs.Table(path, columns, keep=True)
    assert again.rows == table.rows and again.find(dict(model="a", label="x, y")) == table.rows[0] and not again.find(
        dict(model="c"))
    with open(path, "a") as file:
        file.write("c,cu")
    assert len(runs.Table(path, columns, keep=True).rows) == 2
    says("is not a table of this command", runs.Table, path, ["model", "error"], True)
    write("table.csv", "model,label,error\na,b,many\n")
    says("--continue: ", runs.Table, path, columns, True)


def setting(scan, model, label, error, price, **values):
    return dict(dict.fromkeys(scans.VALUES), scan=scan, model=model, label=label, error=10 * error, time=10,
                price=price, **values)


def cheapest():
    assert math.isclose(scans.difference([0, 2e-5, -3e-5], [0, 1e-5, 1e-5]), 4e-5)
    rows = [setting("block", m, f"eta = {eta}", error, price, eta=eta) for m, factor in (("a", 1), ("b", 10))
            for eta, error, price in ((4, 3e-6, 1 * factor), (2, 2e-5, 2 * factor), (1, 5e-6, 3 * factor),
                                      (0.5, 1e-6, 9 * factor))]
    assert scans.cheapest(rows, 1e-5)["eta"] == 1    # 4 has the error by luck: 2 lacks it
    assert scans.cheapest(rows, 2e-6)["eta"] == 0.5 and scans.cheapest(rows, 1e-4)["eta"] == 4 and scans.cheapest(
        rows, 1e-7) is None
    assert math.isclose(scans.cheapest(rows, 1e-5)["cost"], 3)
    rows[2]["error"] = 5e-4                          # of one model: the largest error of all counts
    assert scans.cheapest(rows, 1e-5)["eta"] == 0.5
    del rows[7]                                      # a setting that lacks a model does not count
    assert scans.cheapest(rows, 2e-6) is None and scans.finest(rows)["eta"] == 4


def definitions():
    rows = [setting("hybrid", "a", "h", 1e-6, 1, eta=2, xs=0.4, r1=1), setting("block", "a", "b", 4e-6, 1, eta=1.4),
            setting("forces", "a", "exact", 1e-3, 1)]
    for order, price in (1, 3.0), (2, 2.0):
        rows += [setting("forces", "a", f"{order} {delta}", 1e-3 * delta, price / delta, delta=delta, order=order)
                 for delta in (0.25, 0.0078125)]
    lines = scans.table(rows, [1e-5, 1e-6], 0.8)
    assert lines[0]["forces"]["order"] == 2 and not lines[0]["missing"].get(1)
    assert scans.definition(lines[0]) == ('ACCURACY("standard", 1e-05, 0.0078125, 0.0078125, 2, 1.4, 2, 0.4, 0.27, 1)'
                                          "   /* not reached: without the split 4.0e-06 */")
    assert set(lines[1]["missing"]) == {"forces", 1, 2, "block", "hybrid"}
    assert all(1.2 <= v["eta"] / v["xs"] <= 25 for _, v, *_ in scans.settings("hybrid", 1, 1, False))
    for scan in scans.SCANS:
        assert 4 <= len(list(scans.settings(scan, 1, 1, True))) < len(list(scans.settings(scan, 1, 1, False)))


globals()[group]()
