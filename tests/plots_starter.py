#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""plots_starter.py TOOLS: start scripts that draw, without loading matplotlib for each of them. A line of standard
input asks for one: it names a file whose lines are the names of the files for its standard output and standard error,
the script, and its arguments. The script runs in a process of its own, a copy of this one, so what it changes ends with
it. Its exit status is a line of standard output."""
import io
import os
import runpy
import sys

sys.path.insert(0, sys.argv[1])
import plotting  # noqa: E402  # what every script of TOOLS loads

# What matplotlib keeps of fonts and of powers of ten in labels, whose layout is a fifth of the time of a picture.
figure, axes = plotting.plt.subplots(layout="constrained")
axes.set(xscale="log", yscale="log", xlim=(1e-13, 1e13), ylim=(1e-13, 1e13))
axes.set_xticks([10.0**power for power in range(-12, 13)])
figure.savefig(io.BytesIO(), format="png")
figure.draw(figure.canvas.get_renderer())
plotting.plt.close(figure)


def become(words):
    """The script, in this process."""
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, (name, flags) in enumerate(((os.devnull, os.O_RDONLY), (words[0], write), (words[1], write))):
        file = os.open(name, flags, 0o666)
        os.dup2(file, number)
        os.close(file)
    sys.argv = words[2:]
    runpy.run_path(words[2], run_name="__main__")
    sys.exit(0)


for request in sys.stdin:
    with open(request.rstrip("\n"), encoding="utf-8", errors="surrogateescape") as lines:
        asked = lines.read().split("\n")[:-1]
    child = os.fork()
    if child == 0:
        become(asked)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(1, b"%d\n" % (status if status >= 0 else 128 - status))
