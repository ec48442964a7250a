#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The program shellcheck finds nothing in the scripts: with .shellcheckrc in those of tests, with all its checks in the
# others.
. "${srcdir:-.}/tests/harness.sh"
command -v shellcheck > /dev/null 2>&1 || skip_all "no shellcheck (Debian: shellcheck)"
shown=$dir/said
cd "$src" || exit 99
# scripts FOLDER OR FILE...: those that begin as scripts of a shell, and *.sh
scripts() {
  find "$@" -type f 2> /dev/null | sort | while read -r file; do
    case $file in
      *.sh) echo "$file" ;;
      *) head -n 1 "$file" | tr -d '\0' | grep -q -E '^#! */(usr/)?bin/(env )?(ba|da)?sh' && echo "$file" ;;
    esac
  done
}
scripts quickstart jobscripts tools build-aux/revision.sh .ci packaging > "$dir/users"
scripts tests > "$dir/tests"
xargs shellcheck --norc -f gcc < "$dir/users" > "$shown" 2>&1
ok $? "$(wc -l < "$dir/users") scripts"
xargs shellcheck -f gcc < "$dir/tests" > "$shown" 2>&1
ok $? "$(wc -l < "$dir/tests") scripts of tests"
[ "$(wc -l < "$dir/users")" -ge 14 ] && [ "$(wc -l < "$dir/tests")" -ge 40 ]
ok $? "these were all"
# none makes files of fixed names where other users write
xargs grep -n -E '(>|-o|mkdir|touch|cp|mv)[^|;&]* "?/(var/)?tmp/' < "$dir/users" > "$shown"
check "no fixed names in /tmp" test ! -s "$shown"
finish
