#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# seconds.sh DRIVER...: run Automake's driver of one test, and add a line to the file test-seconds of the build folder:
# seconds of the clock,
# seconds of processors of all its programs, its name. ./quickstart check prints the longest.
began=$(date +%s)
"$@"
status=$?
ended=$(date +%s)
name=$(printf '%s\n' "$@" | sed -n '/^--test-name$/{n;p;q}')
# a subshell would begin with no children
times > "test-seconds.$$"
awk -v clock=$((ended - began)) -v name="$name" 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/);
  s += 60 * t[1] + t[2] } }
  END { printf "%d %.1f %s\n", clock, s, name }' "test-seconds.$$" >> test-seconds
rm -f "test-seconds.$$"
exit $status
