#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the tables of the pages from the CSV files of this folder, each between '<!-- table NAME -->' and '<!-- end
-->'.

NAME.csv is the table: its first row has the headings; a heading or a first cell that begins with '-' is data that the
page does not show. On the page equal cells at the begin of consecutive rows stand once. runs.csv says for every name
when, with which revision and device, and by which command the figures were made. On measurements.md this stands above
the table; '<!-- runs -->' there begins the list of figures that stand on other pages; others are in a CSV file
alone. --check writes nothing and fails if a page and its CSV files differ, or if a revision is not in the history
(where there is a whole one)."""
import argparse
import csv
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = "measurements.md"
REGION = re.compile(r"<!-- (table [a-z0-9-]+|runs) -->\n.*?<!-- end -->\n", re.DOTALL)
ABSENT = "not in this history"   # said of a revision


def rows_of(name):
    with open(os.path.join(HERE, name + ".csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            sys.exit(f"{name}.csv:{number}: expected {len(rows[0])} cells, got {len(row)}")
    return rows


def markdown(rows):
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]).replace("|  ", "| ") + "\n"


def table(name):
    rows = rows_of(name)
    shown = [k for k, heading in enumerate(rows[0]) if not heading.startswith("-")]
    rows = [[row[k] for k in shown] for row in rows if row is rows[0] or not row[0].startswith("-")]
    page = [list(row) for row in rows]
    for above, row, cells in zip(rows[1:], rows[2:], page[2:]):
        for k in range(min(3, len(row) - 1)):   # the same as above
            if row[k] != above[k]:
                break
            cells[k] = ""
    return markdown(page)


def code(command):
    """`command`; words with a link stay words."""
    return f"`{command}`" if command and "](" not in command else command


def source(run):
    """'2026-11-22, 5197d8c, H200: `command`.'"""
    command = ": " + code(run["command"]) if run["command"] else ""
    return f"{run['date']}, {run['revision']}, {run['device']}{command}.\n"


def listed(runs):
    """The entries of figures that stand on other pages."""
    rows = [["figures", "source", "command"]]
    for run in runs.values():
        if run["page"] in (HOME, ""):
            continue
        what = f"[{run['what']}]({run['page']})"
        rows.append([what, f"{run['date']}, {run['revision']}, {run['device']}", code(run["command"])])
    return markdown(rows)


def render(page, text, runs, used):
    def region(match):
        word = match.group(1)
        if word == "runs":
            body = listed(runs)
        else:
            name = word.split()[1]
            if name not in runs or runs[name]["page"].partition("#")[0] != page:
                sys.exit(f"{page}: expected a row of runs.csv for {name} on this page")
            used.add(name)
            body = (source(runs[name]) + "\n" if page == HOME else "") + table(name)
        return f"<!-- {word} -->\n{body}<!-- end -->\n"
    return REGION.sub(region, text)


def absent(runs):
    """Revisions of runs.csv that a whole history lacks."""
    def git(*words):
        return subprocess.run(["git", "-C", HERE, *words], capture_output=True, text=True, check=False)
    try:
        if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
            return []
    except OSError:
        return []
    cited = {revision for run in runs.values() for revision in re.findall(r"\b[0-9a-f]{7}\b", run["revision"])
             if ABSENT not in run["revision"]}
    return [revision for revision in sorted(cited) if git("cat-file", "-e", revision + "^{commit}").returncode]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a page would change")
    parser.add_argument("--pages", default=os.path.join(HERE, ".."), metavar="DIR", help="folder of the pages")
    options = parser.parse_args()
    head, *rest = rows_of("runs")
    runs = {row[0]: dict(zip(head, row)) for row in rest}
    used, bad = set(), []
    for path in sorted(glob.glob(os.path.join(options.pages, "*.md"))):
        with open(path, encoding="utf-8") as file:
            old = file.read()
        new = render(os.path.basename(path), old, runs, used)
        if new == old:
            continue
        if options.check:
            bad.append(f"{os.path.basename(path)} differs from doc/data (python3 doc/data/tables.py writes it)")
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
    used |= {name for name, run in runs.items() if not run["page"]}
    files = {os.path.basename(name)[:-4] for name in glob.glob(os.path.join(HERE, "*.csv"))} - {"runs"}
    bad += [f"{name}.csv is on no page" for name in sorted(files - used)]
    bad += [f"runs.csv: {revision} is not in the history" for revision in absent(runs)]
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
