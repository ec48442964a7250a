#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Everything public in espalier.h and in pyespalier is explained where it is defined, and named by doc/library.md or
# doc/python.md.
. "${srcdir:-.}/tests/harness.sh"
with_python ast || skip_all "no Python"
check "functions of espalier.h and names of pyespalier have a comment, and a place in the pages" \
  try "$python" "$src/tests/interfaces.py" "$src"

# this test finds what it looks for
mkdir -p tree/src/api tree/doc tree/python
cp -r "$src/python/espalier" tree/python && cp "$src/src/api/espalier.h" tree/src/api &&
  cp "$src/doc/library.md" "$src/doc/python.md" tree/doc && chmod -R u+w tree
# finds TEXT FILE EXPRESSION: after sed has changed the file, this line is the only one
finds() {
  cp "tree/$2" kept
  sed -i -e "$3" "tree/$2"
  try "$python" "$src/tests/interfaces.py" tree
  [ $status = 1 ] && ! cmp -s kept "tree/$2" && [ "$(rows said)" = "$1" ]
  ok $? "$1"
  cp kept "tree/$2"
}
finds 'espalier.h: espalier_time has no comment with its contract' src/api/espalier.h '/The present time/d'
finds 'doc/library.md does not name espalier_save of espalier.h' doc/library.md 's/espalier_save/save/g'
finds 'doc/library.md does not name ESPALIER_BAD_STEP of espalier.h' doc/library.md 's/ESPALIER_BAD_STEP//g'
finds 'simulation.Simulation.pot has no docstring' python/espalier/simulation.py '/Potentials (n,) per unit mass/d'
finds 'python/espalier/_library.py does not declare espalier_time with 1 arguments' python/espalier/_library.py \
  '/"espalier_time":/s/\[_HANDLE\]/[]/'
finds 'doc/python.md does not name lagrangian_radii' doc/python.md 's/lagrangian_radii/radii/g'
finish
