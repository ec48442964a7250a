#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The files that are generated from the table of parameters are up to date ('make parameter-pages' makes them).
compare() {
  if ./espalier params "$1" > parameter_pages.new && diff "$2" parameter_pages.new > parameter_pages.diff 2>&1
  then echo "ok $3 - $2"
  else sed 's/^/# /' parameter_pages.diff; echo "not ok $3 - $2 differs: make parameter-pages"
  fi
}
echo 1..2
compare --ini "$srcdir/params/default.ini" 1
compare --markdown "$srcdir/doc/parameters.md" 2
rm -f parameter_pages.new parameter_pages.diff
