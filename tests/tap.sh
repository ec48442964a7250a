# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# What tests by script share: . "${srcdir:-.}/tests/tap.sh"
number=0 failed=0
# Files that tell what happened; their first lines are shown where a check fails.
told=
# ok STATUS TEXT: one check, passed where the status is 0
ok() {
  number=$((number + 1))
  if [ "$1" = 0 ]; then
    echo "ok $number - $2"
  else
    echo "not ok $number - $2"
    # shellcheck disable=SC2086
    [ -z "$told" ] || sed 's/^/# /' $told | grep -v '^# ok' | head -40
    failed=1
  fi
}
