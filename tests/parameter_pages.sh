#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The files that are generated from the tables of parameters and commands are up to date ('make parameter-pages' makes them).
compare() {
  # shellcheck disable=SC2086
  if ./espalier $1 > parameter_pages.new && diff "$2" parameter_pages.new > parameter_pages.diff 2>&1
  then echo "ok $3 - $2"
  else sed 's/^/# /' parameter_pages.diff; echo "not ok $3 - $2 differs: make parameter-pages"
  fi
}
echo 1..4
compare "params --ini" "${srcdir:-.}/params/default.ini" 1
compare "params --markdown" "$srcdir/doc/parameters.md" 2
compare "info --manual" "$srcdir/doc/espalier.1" 3
if ! command -v groff > /dev/null 2>&1; then
  echo "ok 4 - manual pages # SKIP no groff"
elif for page in "$srcdir"/doc/*.1; do groff -man -Tutf8 -ww -z "$page"; done 2>&1 | grep . > parameter_pages.diff; then
  sed 's/^/# /' parameter_pages.diff
  echo "not ok 4 - manual pages: groff complains"
else
  echo "ok 4 - groff takes the manual pages"
fi
rm -f parameter_pages.new parameter_pages.diff
