#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The pages as a site: `make html` without a warning; its pages are linked from its start, which has a picture and
# tiles, and a dead link is found.
# Spelling, by codespell.
. "${srcdir:-.}/tests/slow/common.sh"
here=$PWD
plan 6
scratch site
cd "$scratch_dir" || exit 99
sphinx=${ESPALIER_SPHINX:-sphinx-build}
if "$sphinx" --version > /dev/null 2>&1; then
  try 300 make.log "make html" "$MAKE" -C "$here" html SPHINX_BUILD="$sphinx"
  [ -s "$here/html/doc/site/index.html" ] && grep -q 'tutorials/first-run.html' "$here/html/doc/site/index.html" &&
    [ -s "$here/html/doc/tutorials/first-run.html" ] && grep -q '<table' "$here/html/doc/parameters.html"
  result $? "its start leads to the tutorials, and tables are tables"
  start=$here/html/doc/site/index.html
  grep -q '<img [^>]*merger.png' "$start" && grep -q 'class="tiles ' "$start" && grep -q 'landing.css' "$start" &&
    [ -s "$here/html/_static/landing.css" ] && ! grep -E 'class="toctree-l1.*>[a-z/]+/<' "$start"
  result $? "its start has a picture and tiles, and no folder is a title of the navigation"
  mkdir dead && cp -r "$src/README.md" "$src/CONTRIBUTING.md" "$src/configure.ac" "$src/doc" dead &&
    echo '[to nowhere](absent.md)' >> dead/doc/units.md
  "$sphinx" -q -W --keep-going -b html -c dead/doc/site -d trees dead out > dead.log 2>&1
  [ $? != 0 ] && grep -q 'units.md.*absent.md' dead.log
  result $? "a dead link fails the build"
else
  for text in "make html" "its start" "its picture and tiles" "a dead link"; do
    skip "$text" "no sphinx-build with myst-parser and furo"
  done
fi
spell=${ESPALIER_CODESPELL:-codespell}
if "$spell" --version > /dev/null 2>&1; then
  try 120 spell.log "pages, comments and messages are spelled as codespell knows" "$spell" \
    --ignore-words "$src/tests/codespell-words" \
    "$src/README.md" "$src/CONTRIBUTING.md" "$src/ChangeLog" "$src/doc" "$src/src" "$src/mpi" "$src/gpu" "$src/tools" \
    "$src/jobscripts" "$src/params"
  echo 'This sentense is mispelled.' > wrong.md
  ! "$spell" wrong.md > /dev/null 2>&1
  result $? "a wrong word is found"
else
  for text in "spelling" "a wrong word"; do skip "$text" "no codespell"; done
fi
finish
