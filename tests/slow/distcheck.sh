#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tarball holds every file of the repository, builds elsewhere from a read-only source, passes the tests that could
# miss a file, installs and cleans up (make distcheck, without CUDA).
. "${srcdir:-.}/tests/slow/common.sh"
plan 3
scratch distcheck
log=$scratch_dir/distcheck.log
# Without optimisation it compiles in half of the time; whether a file is there does not depend on it.
# shellcheck disable=SC2016  # make expands it
try 900 "$log" "make distcheck passes" "$MAKE" distcheck TESTS='$(tarball_tests)' \
  DISTCHECK_CONFIGURE_FLAGS=CFLAGS=-O0 || give_up
tarball=$(ls espalier-*.tar.gz) || give_up
tar -tzf "$tarball" | sed 's,^[^/]*/,,; /\/$/d; /^$/d' | sort > "$scratch_dir/packed"
if command -v git > /dev/null 2>&1 && git -C "$src" rev-parse > /dev/null 2>&1; then
  git -C "$src" ls-files | grep -v -E '^(\.gitignore|\.gitattributes|\.ci/.*)$' | sort > "$scratch_dir/tracked"
  forgotten=$(comm -23 "$scratch_dir/tracked" "$scratch_dir/packed")
  [ -z "$forgotten" ]
  result $? "the tarball has every file of the repository"
  [ -z "$forgotten" ] || echo "$forgotten" | sed 's/^/# not packed: /'
else
  skip "the tarball has every file of the repository" "no git repository"
fi
grep -q -x .revision "$scratch_dir/packed"
result $? "the tarball knows its revision"
rm -f espalier-*.tar.gz espalier-*.tar.xz
finish
