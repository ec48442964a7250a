#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Forces and soft steps on 64 ranks, far more than there are processors, which wait for each other most of the time.
. "${srcdir:-.}/tests/harness.sh"
MOST_RANKS=64
on 64 20 force_ranks short
on 64 10 step_ranks short
finish
