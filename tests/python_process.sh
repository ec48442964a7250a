#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# pyespalier in a process that has other things: signals, locales, threads, the end of MPI, errors of one of two ranks.
. "${srcdir:-.}/tests/harness.sh"
with_python numpy || skip_all "no Python with numpy"
! ldd "$here/lib/libespalier.so" 2> /dev/null | grep -q libasan ||
  skip_all "the library has a sanitizer, and Python has none"
export PYTHONPATH="$src/python" ESPALIER_LIB="$here/lib/libespalier.so"
program=$src/tests/python_process.py
try "$python" "$program"
ok $? "signals, arguments and threads"

# the test has a locale of its own
mkdir locale
if localedef -i de_DE -f UTF-8 "$dir/locale/de_DE.UTF-8" > /dev/null 2>&1; then
  try env LOCPATH="$dir/locale" "$python" "$program" german
  check "parameters, files and sentences in a process with decimal commas" has said '^value 0.25 100 ArgumentError'
  check "whose locale stays as it was, also in callbacks" eval \
    "has said '^callback 0,5 ,' && has said '^process 0,5'"
else
  skip "a process with decimal commas" "no locale can be made"
  skip "whose locale stays as it was" "no locale can be made"
fi

try "$python" "$program" finalized
check "calls after MPI_Finalize" eval "[ $status = 0 ] && [ \$(count said '^MPIError: MPI_Finalize') = 3 ]"

# a rank that waits for another one would wait for ever
# shellcheck disable=SC2046  # words of the command
try timeout 300 $(starter 2) "$python" "$program" ranks
check "two ranks go on together" [ $status = 0 ]
# both WHAT TEXT TEXT: what ranks 0 and 1 say
both() { has said "^$1 | $2.* | 0\$" && has said "^$1 | $3.* | 1\$"; }
check "a wrong array on one rank" both shape 'ArgumentError: vel' 'ArgumentError: vel'
check "an exception in a callback" both exception ZeroDivisionError 'ArgumentError: division by zero'
check "a callback that ends the run" both true none none
check "times that differ" both until 'ArgumentError: until' 'ArgumentError: until'
check "a rank that leaves its callback early" both callback ZeroDivisionError 'ArgumentError: the ranks'
check "different calls" both calls 'ArgumentError: the ranks' 'ArgumentError: the ranks'
check "a wrong number of a model" both model 'ArgumentError: n and seed' 'ArgumentError: n and seed'
check "a mask on one rank" both open 'ArgumentError: mass' 'ArgumentError: mass'
check "Ctrl-C on one rank" both interrupt KeyboardInterrupt none
finish
