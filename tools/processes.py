# SPDX-License-Identifier: GPL-3.0-or-later
"""Work that is done for many items, by as many processes as there are cores, with a line of progress."""
import multiprocessing
import os
import sys
import time

FEWEST = 8    # items for which processes are started
SILENT = 2    # seconds without a line
EVERY = 10    # seconds between lines where these go to a file

_work = None  # of the processes, which get it with the memory of this one


def _do(number):
    return _work(number)


class _Progress:
    """A line that renews itself on a terminal, else a line now and then, on stderr; with the time that remains."""

    def __init__(self, items, what):
        self.items, self.what, self.begin, self.shown = items, what, time.monotonic(), 0.0
        self.terminal = sys.stderr.isatty()

    def step(self, done):
        now = time.monotonic()
        if now - self.begin < SILENT or (now - self.shown < (0.2 if self.terminal else EVERY) and done < self.items):
            return
        if done == self.items and not self.shown:
            return
        self.shown = now
        left = (now - self.begin) / done * (self.items - done)
        text = f"{self.what}: {done} of {self.items}, {left:.0f} s left"
        print(f"\r{text:<60}" if self.terminal else text, end="" if self.terminal and done < self.items else "\n",
              file=sys.stderr, flush=True)


def together(work, items, what):
    """The results of work(0), work(1) ... work(items - 1), one after the other. `what`: of the line of progress."""
    global _work
    cores = min(len(os.sched_getaffinity(0)), items)
    progress = _Progress(items, what)
    if cores < 2 or items < FEWEST:
        for number in range(items):
            yield work(number)
            progress.step(number + 1)
        return
    _work = work
    try:
        with multiprocessing.get_context("fork").Pool(cores) as pool:
            for number, result in enumerate(pool.imap(_do, range(items)), 1):
                yield result
                progress.step(number)
    finally:
        _work = None
