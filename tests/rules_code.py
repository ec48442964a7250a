#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""rules_code.py RULE: lines "FILE:LINE: what" of places in src, mpi, gpu and tests that break a rule of
CONTRIBUTING.md. RULE: columns, commas, functions, members, circles, object_circles, schemes, integrators, effects. The
variable BUILD is the build folder, whose object files object_circles reads."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

COLUMNS, FUNCTION, MEMBERS = 120, 60, 25
TOKEN = re.compile(
    r"(?P<line>(?:(?<=\n)|\A)[ \t]*\#(?:\\\n|[^\n])*)|(?P<comment>/\*.*?\*/|//[^\n]*)"
    r"|(?P<text>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')|(?P<name>[A-Za-z_]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)"
    r"|(?P<space>\s+)|(?P<sign>->|::|<<|>>|&&|\|\||.)", re.S)
DECLARES = set("""struct enum union const static extern typedef int double float char long short unsigned signed void
    register volatile using template typename constexpr return goto case default""".split())
# Structs that may have more members, and why.
WIDE = {"walk_job": "the order of its members decides how many registers its kernels use"}
# Calls between files of a folder that may lead back, and why.
RETURNS = {
    ("src/api/steps", "src/api/entries"): "a callback of the user leaves the lock that entries.c holds",
    ("src/cli/manual", "src/cli/commands"): "a command prints the manual page, which has all commands",
    ("src/scheme/neighbour_lists", "src/scheme/schemes"): "a scheme measures radii, by which another one is chosen",
    ("src/scheme/tree_steps", "src/scheme/schemes"): "the same",
}


def files(*folders, kinds=(".c", ".h", ".cu", ".cuh")):
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.suffix in kinds and path.name != "revision_string.h":
                yield path


def scripts():
    """Scripts of shell and Python, by their names or first lines, and makefiles, outside build folders."""
    for path in sorted(pathlib.Path(".").iterdir()):
        if path.is_file() and (path.suffix in (".sh", ".py") or path.name in ("Makefile.am", "quickstart")):
            yield path
    for folder in ("doc", "gpu", "jobscripts", "mpi", "packaging", "params", "python", "src", "tests", "tools", ".ci"):
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file() and not path.is_symlink() and path.suffix in (".sh", ".py", ".mk", ""):
                with open(path, "rb") as file:
                    if path.suffix or re.match(rb"#!.*(sh|python3?)\n", file.readline(100)):
                        yield path


def columns():
    for path in (*files("src", "mpi", "gpu", "tests"), *scripts()):
        for number, line in enumerate(path.read_text().split("\n"), 1):
            if len(line) > COLUMNS:
                yield f"{path}:{number}: {len(line)} columns"


class Tokens:
    """The tokens of a file without comments and preprocessor lines."""

    def __init__(self, text):
        found = [(m.lastgroup, m.group(), m.start()) for m in TOKEN.finditer(text)]
        self.all = [t for t in found if t[0] not in ("line", "comment", "space")]
        self.text = text

    def sign(self, k):
        return self.all[k][1] if 0 <= k < len(self.all) else ""

    def kind(self, k):
        return self.all[k][0] if 0 <= k < len(self.all) else ""

    def line(self, k):
        return self.text.count("\n", 0, self.all[k][2]) + 1


def opens_block(tokens, k, inside):
    """Whether the brace at k opens statements, and not an initialiser or the members of a struct."""
    before = tokens.sign(k - 1)
    if before in ("else", "do", ";", "{", "}", ":"):
        return before not in (";", "{", "}") or not inside or inside[-1]
    if before != ")":
        return False
    depth, j = 0, k - 1
    while j >= 0:
        depth += {")": 1, "(": -1}.get(tokens.sign(j), 0)
        if depth == 0:
            break
        j -= 1
    return tokens.sign(j - 1) not in ("=", "(", ",", "return", "?", ":", "&", "{", "+", "-", "[", "*")


def joined(tokens, k):
    """The end of the statement at k, and whether a comma joins two in it."""
    depth, comma = 0, False
    while k < len(tokens.all):
        sign = tokens.sign(k)
        if sign == "<" and tokens.kind(k - 1) == "name":   # of a template
            j = k + 1
            while (tokens.kind(j) in ("name", "number") or tokens.sign(j)
                   in (",", "::", "&&", "||", "*", "+", "-", "!", "=")):
                j += 1
            if tokens.sign(j) == ">" and tokens.sign(j + 1) in ("(", "::", "{"):
                k = j
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
            if depth < 0:
                return k, False
        elif sign == ";" and depth == 0:
            return k, comma
        elif sign == "," and depth == 0:
            comma = True
        k += 1
    return k, False


def declares(tokens, k):
    name = tokens.kind(k) == "name"
    return tokens.sign(k) in DECLARES or (name and tokens.kind(k + 1) == "name") or (
        name and tokens.sign(k + 1) in ("*", "<") and tokens.kind(k + 2) == "name" and
        tokens.sign(k + 3) in (",", "=", ";", ">"))


def commas():
    for path in files("src", "mpi", "gpu", "tests"):
        tokens, inside, closed, brackets, controls = Tokens(path.read_text()), [], {}, [], set()
        skip = -1
        for k in range(len(tokens.all)):
            sign, before = tokens.sign(k), tokens.sign(k - 1)
            if sign == "(":
                brackets.append(k)
            elif sign == ")" and brackets:
                if tokens.sign(brackets.pop() - 1) in ("if", "for", "while"):
                    controls.add(k)
            elif sign == "{":
                inside.append(opens_block(tokens, k, inside))
            elif sign == "}":
                closed[k] = inside.pop() if inside else True
            begins = before in ("{", ";", "else", "do") or (before == "}"
                                                            and closed.get(k - 1, True)) or k - 1 in controls
            if k <= skip or not begins or not inside or not inside[-1] or sign in ("{", "}", ";", ",", ")", "]"):
                continue
            if sign in ("if", "for", "while", "switch", "else", "do") or declares(tokens, k):
                continue
            skip, comma = joined(tokens, k)
            if comma:
                yield f"{path}:{tokens.line(k)}: statements joined by a comma"


def functions():
    for path in files("src", "mpi", "gpu", "tests"):
        lines, begin = path.read_text().split("\n"), None
        for number, line in enumerate(lines):
            if line == "{":
                head = number - 1
                while head > 0 and lines[head] and not lines[head].endswith((";", "*/", "}")):
                    head -= 1
                begin = head + 1
                name = re.search(r"(\w+)\(", " ".join(lines[begin:number]))
            elif line.startswith("}") and begin is not None:
                if number - begin + 1 > FUNCTION:
                    yield f"{path}:{begin + 1}: {number - begin + 1} lines, {name.group(1) if name else ''}"
                begin = None


def count_members(body):
    body, depth, count, member = re.sub(r"/\*.*?\*/", "", body, flags=re.S), 0, 0, ""
    for letter in body:
        depth += {"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}.get(letter, 0)
        if depth or letter != ";":
            member += letter
            continue
        plain = re.sub(r"\{.*\}|\([^()]*\)|\[[^\]]*\]", "", member, flags=re.S)
        count += plain.count(",") + 1
        member = ""
    return count


def members():
    wide = set()
    for path in files("src", "mpi", "gpu"):
        text = path.read_text()
        for match in re.finditer(r"(?m)^struct (\w+) \{\n(.*?)^\}", text, re.S):
            count = count_members(match.group(2))
            if count > MEMBERS:
                wide.add(match.group(1))
                if match.group(1) not in WIDE:
                    yield f"{path}: struct {match.group(1)} has {count} members"
    for name in sorted(WIDE.keys() - wide):
        yield f"tests/rules_code.py: struct {name} has at most {MEMBERS} members, and needs no exception"


def circles():
    """Headers that include each other, directly or not."""
    includes = collections.defaultdict(set)
    for path in files("src", "mpi", "gpu", kinds=(".h", ".cuh")):
        for name in re.findall(r'(?m)^\s*#\s*include\s*"([^"]+)"', path.read_text()):
            for root in ("src", "."):
                if (pathlib.Path(root) / name).exists():
                    includes[str(path)].add(str(pathlib.Path(root) / name))
    for start in sorted(includes):
        seen, waiting = set(), [start]
        while waiting:
            for name in includes[waiting.pop()] - seen:
                seen.add(name)
                waiting.append(name)
        if start in seen:
            yield f"{start} includes itself by way of others"


def symbols(path):
    """Names that an object file defines for others, and those that it needs."""
    lines = subprocess.run(["nm", "-P", path], capture_output=True, text=True).stdout.splitlines()
    words = [line.split() for line in lines]
    return {w[0] for w in words if w[1] in "BCDRTVW"}, {w[0] for w in words if w[1] == "U"}


def calls(folder, root):
    """Which file of a folder needs which others of it, from the objects in the build folder `root`."""
    defined, needed = {}, collections.defaultdict(set)
    for path in folder.glob("*.o"):
        name = str(path.relative_to(root).parent / path.stem.split("-")[-1])   # libkernels_avx2_a-walk_isa.o
        own, others = symbols(path)
        defined.update(dict.fromkeys(own, name))
        needed[name] |= others
    return {name: {defined[s] for s in others if s in defined} - {name} for name, others in needed.items()}


def object_circles():
    """Files of a folder that need each other, directly or not."""
    root = pathlib.Path(os.environ.get("BUILD", "."))
    if not shutil.which("nm"):
        return
    for folder in sorted({path.parent for part in ("src", "mpi") for path in (root / part).rglob("*.o")}):
        needs = {name: {other for other in others if (name, other) not in RETURNS}
                 for name, others in calls(folder, root).items()}
        for start in sorted(needs):
            came_from, waiting = {}, [start]
            while waiting and start not in came_from:
                name = waiting.pop(0)
                for other in sorted(needs[name] - set(came_from)):
                    came_from[other] = name
                    waiting.append(other)
            if start in came_from:
                way = [start]
                while len(way) < 2 or way[-1] != start:
                    way.append(came_from[way[-1]])
                yield f"{start}.c needs itself: " + " -> ".join(f"{pathlib.Path(name).name}.c" for name in way[::-1])


def schemes():
    """Tests of the scheme in use outside scheme/. The split of a request is the backend's; a checkpoint stores it."""
    for path in files("src", "mpi"):
        if path.parts[1] in ("scheme", "cpu", "gravity", "backend"):
            continue
        for number, line in enumerate(path.read_text().split("\n"), 1):
            if re.search(r"split\.on|[!=]= ?&scheme_|hard_used", line) and "WHOLE(\"split.on\"" not in line:
                yield f"{path}:{number}: {line.strip()}"


def timers():
    """Phases that step/ and scheme/ begin by hand. Verbs do it in step/timed.h; TIMED is for whole parts of step/."""
    for path in files("src/step", "src/scheme"):
        by_hand = r"\b(timer_phase|TIMED)\(" if path.parts[1] == "scheme" else r"\btimer_phase\("
        for number, line in enumerate(path.read_text().split("\n"), 1):
            if path.name != "timed.h" and re.search(by_hand, line):
                yield f"{path}:{number}: {line.strip()}"


def integrators():
    """Integrators by name outside their table and the loops over neighbour lists."""
    table = pathlib.Path("src/params/integrators.h")
    names = re.findall(r"(?m)^  X\((\w+), (\w+),", table.read_text())
    named = re.compile(r"\b(" + "|".join(f"INTEGRATOR_{value}|integrator_{name}" for value, name in names) + r")\b")
    if not names:
        yield f"{table}: no integrators found"
    for path in files("src", "mpi", "gpu"):
        if path == table or path.parent in (pathlib.Path("src/cpu/lists"), pathlib.Path("gpu/neighbour_lists")):
            continue
        for number, line in enumerate(path.read_text().split("\n"), 1):
            if named.search(line):
                yield f"{path}:{number}: {line.strip()}"


def effects():
    """Names of one effect outside effects/ and what it is made of; the table in step/effects.c has each once."""
    for path in files("src", "mpi"):
        if path.parts[1] in ("effects", "external", "params", "ic", "gravity"):
            continue
        for number, line in enumerate(path.read_text().split("\n"), 1):
            direct = re.search(r"\b(expansion|frame|external|orbit|agama|cosmology_(tau|a|open))(_\w*)?\(|"
                               r"#include \"(effects|external)/|\beffect_(expansion|external_field|frame)\b", line)
            table = path.name in ("effects.c", "effects.h") and "effect_" in line
            if direct and not table and "static" not in line and "external_link" not in line:
                yield f"{path}:{number}: {line.strip()}"


if __name__ == "__main__":
    for offence in globals()[sys.argv[1]]():
        print(offence)
