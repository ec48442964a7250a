#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tests of files on other numbers of ranks than the usual one.
. "${srcdir:-.}/tests/harness.sh"
MOST_RANKS=7   # also with sanitizers
for name in formats snapshot bad_input; do
  for n in 1 $([ -n "${TEST_SAMPLE-}" ] || echo 2) 7; do on $n 0 $name; done
done
finish
