#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a scaling study for computing centres, from the rows of scaling.csv: speed-up and efficiency, POP's
tree of efficiencies, node hours per unit of time, joules of a soft step. Used by 'scaling collect'; by itself:
scaling_report.py
scaling.csv [REPORT.csv]."""
import csv
import statistics
import sys

# name, title on the terminal, format; a value that is not known is None, "-" on the terminal and empty in the CSV
COLUMNS = [("study", "study", "%s"), ("ranks", "ranks", "%d"), ("nodes", "nodes", "%d"),
           ("particles", "particles", "%d"), ("seconds", "s/step", "%.4g"), ("speedup", "speed-up", "%.3f"),
           ("efficiency", "efficiency", "%.3f"), ("parallel_efficiency", "parallel", "%.3f"),
           ("load_balance", "load balance", "%.3f"), ("communication_efficiency", "communication", "%.3f"),
           ("serialisation", "serialisation", "%.3f"), ("transfer", "transfer", "%.3f"),
           ("computation_scaling", "computation", "%.3f"), ("global_efficiency", "global", "%.3f"),
           ("node_hours_per_time", "node h/time", "%.4g"), ("node_hours_per_gyr", "node h/Gyr", "%.4g"),
           ("watts_per_node", "W/node", "%.4g"), ("joules_per_step", "J/step", "%.4g"), ("repeats", "repeats", "%d")]
TABLES = [("speed-up and efficiency", 0, 7),
          ("POP: global = parallel x computation; parallel = load balance x communication; "
                                             "communication = serialisation x transfer", 7, 14), ("cost", 14, 18)]


def positive(row, name):
    """The number of a column; None where it is missing, empty or not above 0."""
    try:
        value = float(row.get(name) or 0)
    except ValueError:
        return None
    return value if value > 0 else None


def median(rows, name):
    values = [value for value in (positive(row, name) for row in rows) if value is not None]
    return statistics.median(values) if values else None


def over(*terms):
    """The first over the others; None where one is not known."""
    if None in terms:
        return None
    value = terms[0]
    for term in terms[1:]:
        value /= term
    return value


def times(*terms):
    value = 1.0
    for term in terms:
        if term is None:
            return None
        value *= term
    return value


def report_point(name, ranks, rows, first):
    """The row of a number of ranks; first: the row of the smallest number, None for itself."""
    get = {column: median(rows, column) for column in ("nodes", "particles", "seconds", "work_mean", "work_max",
                                                       "ideal", "dt", "gyr", "watts", "communication_efficiency",
                                                       "parallel_efficiency")}
    if get["work_mean"] is None:   # without recordings: what runs measured themselves
        get["work_mean"] = times(get["parallel_efficiency"], get["seconds"])
        get["work_max"] = times(get["communication_efficiency"], get["seconds"])
    work = times(get["work_mean"], ranks)
    row = {"study": name, "ranks": ranks, "nodes": get["nodes"], "particles": get["particles"],
           "seconds": get["seconds"], "_work": over(work, get["particles"]), "repeats": len(rows)}
    first = first or row
    row["speedup"] = times(over(first["seconds"], row["seconds"]), over(row["particles"], first["particles"]))
    row["efficiency"] = over(row["speedup"], ranks / first["ranks"])
    row["load_balance"] = over(get["work_mean"], get["work_max"])
    row["serialisation"] = over(get["work_max"], get["ideal"])
    row["transfer"] = over(get["ideal"], get["seconds"])
    row["communication_efficiency"] = over(get["work_max"], get["seconds"])
    row["parallel_efficiency"] = over(get["work_mean"], get["seconds"])
    # seconds of processors for a particle, against those on the fewest ranks
    row["computation_scaling"] = over(first["_work"], row["_work"])
    row["global_efficiency"] = times(row["parallel_efficiency"], row["computation_scaling"])
    row["node_hours_per_time"] = over(times(row["nodes"], row["seconds"]), get["dt"], 3600)
    row["node_hours_per_gyr"] = over(row["node_hours_per_time"], get["gyr"])
    row["watts_per_node"] = get["watts"]
    row["joules_per_step"] = times(get["watts"], row["nodes"], row["seconds"])
    return row


def report(rows):
    """Rows of the report: strong, then weak, by number of ranks; medians of the repeats."""
    result = []
    for name in ("strong", "weak"):
        first = None
        mine = [row for row in rows if row.get("study") == name]
        for ranks in sorted({int(float(row["ranks"])) for row in mine}):
            point = report_point(name, ranks, [row for row in mine if int(float(row["ranks"])) == ranks], first)
            first = first or point
            result.append(point)
    return result


def text(rows):
    lines = []
    for name in ("strong", "weak"):
        mine = [row for row in rows if row["study"] == name]
        for title, begin, end in TABLES:
            columns = COLUMNS[begin:end] if begin == 0 else [COLUMNS[1]] + COLUMNS[begin:end]
            if not mine or (begin and all(row[column[0]] is None for row in mine for column in columns[1:])):
                continue
            lines += [f"{name}: {title}"] if begin else ["", f"{name}: {title}"]
            cells = [[column[1] for column in columns]]
            cells += [["-" if row[column[0]] is None else column[2] % row[column[0]] for column in columns]
                      for row in mine]
            widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
            lines += ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in cells]
    return "\n".join(lines[1:]) + "\n"


def write_csv(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.write("# medians of the repeats; seconds, joules: of a soft step; empty: not known\n")
        file.write(",".join(column[0] for column in COLUMNS) + "\n")
        for row in rows:
            values = (row[column[0]] for column in COLUMNS)
            file.write(",".join("" if x is None else f"{x:.9g}" if isinstance(x, float) else str(x) for x in values)
                       + "\n")


def read(path):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for column in ("study", "ranks", "particles", "seconds"):
        if not rows or column not in rows[0]:
            sys.exit(f"scaling_report.py: {path} has no column '{column}'")
    for number, row in enumerate(rows, 1):
        for column in ("ranks", "particles", "seconds"):
            if positive(row, column) is None:
                sys.exit(f"scaling_report.py: {path}, row {number}: {column}: expected a number above 0, found "
                         f"'{row[column]}'")
    return rows


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: scaling_report.py scaling.csv [REPORT.csv]")
    try:
        rows = report(read(sys.argv[1]))
        if not rows:
            sys.exit(f"scaling_report.py: {sys.argv[1]}: no row of a strong or a weak study")
        sys.stdout.write(text(rows))
        if len(sys.argv) == 3:
            write_csv(sys.argv[2], rows)
    except OSError as error:
        sys.exit(f"scaling_report.py: {error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
