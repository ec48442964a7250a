#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The files that are generated from the tables of parameters and commands are up to date ('make parameter-pages' makes
# them).
. "${srcdir:-.}/tests/harness.sh"
# up_to_date FILE COMMAND...: the command prints this file of the sources
up_to_date() {
  page=$1
  shift
  "$@" > page && diff "$src/$page" page > said
  ok $? "$page is up to date (make parameter-pages)"
}
up_to_date params/default.ini espalier params --ini
up_to_date doc/parameters.md espalier params --markdown
up_to_date doc/espalier.1 espalier info --manual
up_to_date doc/data/plan-bytes.csv espalier plan --bytes
# tables of measurements and of pages that quote them; python3 doc/data/tables.py writes them
tables() { python3 "$src/doc/data/tables.py" --check "$@"; }
check "tables of pages are those of doc/data" try tables
mkdir pages && cp "$src"/doc/*.md pages && chmod u+w pages/*.md &&
  sed -i '/^<!-- table forces-gpu/,/^<!-- end/s/7\.465/7.5/' pages/measurements.md
says 1 -- tables --pages pages && has said 'measurements.md differs'
ok $? "a table that was changed by hand is found"
if command -v groff > /dev/null 2>&1; then
  for page in "$src"/doc/*.1; do groff -man -Tutf8 -ww -z "$page"; done > said 2>&1
  check "groff takes the manual pages" test ! -s said
else
  skip "manual pages" "no groff"
fi
finish
