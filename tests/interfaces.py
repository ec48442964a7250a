#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""interfaces.py SOURCE: what is public in espalier.h and in pyespalier, and is not explained: a function without a
comment before it, or one that doc/library.md does not name; a name of the package without a docstring, or one that
doc/python.md does not name. Also functions that the package declares with another number of arguments. A line each;
exit status 1 where there is one. Nothing is compiled or imported."""
import ast
import os
import re
import sys

FUNCTION = re.compile(r"ESPALIER_API\s+[^;(]*?\b(espalier_\w+)\s*\(")
TYPE = re.compile(r"^(?:typedef\s+)?(?:struct|enum)\s+(espalier_\w+)\s*\{|^typedef\s+[^;{]*?\b(espalier_\w+)\s*\(",
                  re.M)
CODE = re.compile(r"^\s+(ESPALIER_[A-Z_]+)\b", re.M)
SENTENCE = 20   # characters: a comment that is shorter says nothing


def header_faults(header, page, name="espalier.h"):
    """Functions, types and codes of a header. Returns what is wrong, and how many functions there are."""
    faults, functions = [], list(FUNCTION.finditer(header))
    for found in functions:
        before = header[:found.start()].rstrip()
        comment = before[before.rfind("/*"):] if before.endswith("*/") else ""
        if len(re.sub(r"\W", "", comment)) < SENTENCE or re.match(r"/\* ---", comment):
            faults.append(f"{name}: {found[1]} has no comment with its contract")
    for word in [found[1] for found in functions] + [a or b for a, b in TYPE.findall(header)] + CODE.findall(header):
        if not re.search(rf"\b{word}\b", page):
            faults.append(f"doc/library.md does not name {word} of {name}")
    return faults, len(functions)


def declaration_faults(header, library):
    """Functions of the header that Python's table _SIGNATURES has not, or with another number of arguments."""
    table = next(node.value for node in ast.parse(library).body if isinstance(node, ast.AnnAssign) and node.target.id
                 == "_SIGNATURES")
    declared = {key.value: len(value.elts[1].elts) for key, value in zip(table.keys, table.values)}
    faults = []
    for found in FUNCTION.finditer(header):
        inside = header[found.end():header.index(")", found.end())].strip()
        count = 0 if inside == "void" else inside.count(",") + 1
        if declared.pop(found[1], None) != count:
            faults.append(f"python/espalier/_library.py does not declare {found[1]} with {count} arguments")
    return faults + [f"python/espalier/_library.py declares {name}, which espalier.h has not" for name in declared]


def public(body, inherits=()):
    """(name, node) of public definitions; setters and deleters of a property belong to it."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            kinds = [d.attr for d in getattr(node, "decorator_list", []) if isinstance(d, ast.Attribute)]
            if "setter" not in kinds and "deleter" not in kinds:
                yield node.name, node


def fields(node):
    """Fields of a dataclass."""
    decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    if any(isinstance(d, ast.Name) and d.id == "dataclass" for d in decorators):
        return [part.target.id for part in node.body if isinstance(part, ast.AnnAssign)
                and not part.target.id.startswith("_")]
    return []


def package_faults(folder, page):
    """Names that a package offers: those of __all__, the functions of its modules ic and plots, and the methods of its
    classes. Returns what
    is wrong, and how many names there are."""
    trees = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                trees[name[:-3]] = ast.parse(file.read())
    offered = next(ast.literal_eval(node.value) for node in trees["__init__"].body
                   if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    names, faults = [], []

    def look(name, node, word):
        names.append(word)
        if not ast.get_docstring(node):
            faults.append(f"{name} has no docstring")

    for module, tree in trees.items():
        if module in offered:
            look(module, tree, module)
        for name, node in public(tree.body):
            if name not in offered and module not in offered:
                continue
            look(f"{module}.{name}", node, name)
            if isinstance(node, ast.ClassDef):
                names += fields(node)
                for method, inner in public(node.body):
                    look(f"{module}.{name}.{method}", inner, method)
    faults += [f"__all__ has {name}, which is not defined" for name in offered if name not in names]
    faults += [f"doc/python.md does not name {word}" for word in dict.fromkeys(names)
               if not re.search(rf"(?<![\w-]){word}\b", page)]
    return faults, len(names)


def main():
    source = sys.argv[1]

    def text(path):
        with open(os.path.join(source, path), encoding="utf-8") as file:
            return file.read()

    faults, functions = header_faults(text("src/api/espalier.h"), text("doc/library.md"))
    more, names = package_faults(os.path.join(source, "python/espalier"), text("doc/python.md"))
    more += declaration_faults(text("src/api/espalier.h"), text("python/espalier/_library.py"))
    for fault in faults + more:
        print(fault)
    print(f"# {functions} functions, {names} names")
    sys.exit(bool(faults + more) or functions < 20 or names < 60)


if __name__ == "__main__":
    main()
