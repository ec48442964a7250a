#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What a run prints: a line that renews itself on a terminal, lines of progress in a log, rows and tables with -v, and
# six lines at the end.
. "${srcdir:-.}/tests/harness.sh"
parts_model 1000
parameters here.ini $parts Input:InitCondFile=ic.hdf5
shown="log err"
launch 0 run -P Time:TimeMax=0.5 -P Output:OutputDir=plain here.ini > log 2> err && [ ! -s err ]
ok $? "a run into a file"
# a line when another 5 % of the run are done, and one for the first soft step; slow machines add one each minute
awk '/^time / { n++
  if ($0 !~ /^time [0-9.e-]+ of 0\.5 \([0-9.]+ %\), step [0-9]+, [0-9.e+]+ steps\/s, \|dE\/E\| [0-9.e-]+, /) bad = 1
  if ($0 !~ /, \|dE\/E\| [0-9.e-]+, [0-9:]+ left$/) bad = 1 }
  /\r/ || /\033/ { bad = 1 } END { exit bad || n < 4 || n > 40 }' log
ok $? "... has whole lines about the progress, not one for each soft step"
tail -n 6 log > last
sed -n 1p last | grep -q '^done: time 0.5 after [0-9]* soft steps in [0-9.]* s; largest |dE/E| [0-9.e-]*$' &&
  sed -n 3p last | grep -q '^      nothing is promised where SoftStep is given$' &&
  sed -n 4p last | grep -q '^snapshots: plain/snapshot_000.hdf5 to _016.hdf5$' && sed -n 5p last |
    grep -q '^tables: plain/energy.csv, steps.csv, analysis.csv and others' &&
  sed -n 6p last | grep -q '^next: espalier-plot density plain/snapshot_???.hdf5; espalier-plot energy plain$'
ok $? "... ends with six lines: what was done, how well sums were kept, where the files are, what to do next"
! grep -q -e 'bytes per particle' -e milliseconds -e '^messages' -e '^tuning' -e s/step log
ok $? "... without tables for developers"
# the numbers of the second line, from the table: momentum by sum m|v|, angular momentum by sum m|r x v|; the last sums
# are those of a snapshot
with_python "h5py, numpy"
[ -z "$python" ] || check "... the errors of energy, momentum and angular momentum are those of the table" \
  judge kept log plain/energy.csv plain/snapshot_016.hdf5
launch 0 run -v -n 3 -P Output:OutputDir=verbose here.ini > log 2> err
[ "$(grep -c -E '^ +[0-9]+ ' log)" -ge 3 ] && has log '^ *step  *time  *dt_soft' && has log 'bytes per particle' &&
  lacks log '^time ' &&
  tail -n 6 log | grep -q '^done: '
ok $? "-v: a row for each soft step, tables of memory at the end"
check "-q and -v together are refused" says 2 'options -q and -v: give one of the two' -- espalier run -v -q here.ini
# pty OUT COMMAND...: standard output and error are a terminal
cat > terminal.py << 'END'
import os, pty, sys
with open(sys.argv[1], "wb") as out:
    def read(fd):
        data = os.read(fd, 65536)
        out.write(data)
        return data
    status = pty.spawn(sys.argv[2:], read)
sys.exit(os.waitstatus_to_exitcode(status))
END
if [ -n "$python" ]; then
  "$python" terminal.py screen "$here/espalier" run -P Time:TimeMax=0.5 -P Output:OutputDir=shown here.ini > /dev/null \
    < /dev/null
  status=$?
  shown="screen"
  tr '\r' '\n' < screen > lines
  ends 0 && [ "$(grep -c '^time .* left' lines)" -ge 2 ] && ! tr -d '\r' < screen | grep -q 'left.\[K$'
  ok $? "on a terminal one line renews itself"
  awk '/^time / { if (length > 79 + 3) bad = 1 } END { exit bad }' lines
  ok $? "... which is not wider than the terminal"
  # what follows the line begins where it was removed
  tr -d '\r' < screen |
    awk 'index($0, "snapshot shown/") { n++; at = index($0, "snapshot shown/"); before = substr($0, 1, at - 1);
      if (before != "" && before !~ /\033\[K$/) bad = 1 }
    END { exit bad || n != 17 }'
  ok $? "... and is removed before other lines"
  shown="log"
  # Open MPI connects ranks with a terminal of its own
  "$python" terminal.py screen sh \
    -c "$(starter 2) '$here/espalier' run -P Time:TimeMax=0.125 -P Output:OutputDir=two here.ini > log 2>&1" \
    > /dev/null < /dev/null
  ! grep -q "$(printf '\033')" log && has log '^time ' && tail -n 6 log | grep -q '^done: '
  ok $? "mpirun into a file: whole lines"
fi
finish
