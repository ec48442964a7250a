#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# lane.sh COMMAND...: run a test on one half of the cores, while another has the other half. Ranks that wait for a
# message leave their core; a second test on it would keep it until its time slice ends, message by message.
command -v taskset > /dev/null && command -v flock > /dev/null || exec "$@"
# halves of a list as "0-3,8"
half() {
  taskset -cp $$ | sed 's/.*: //' | awk -v lane="$1" -F, '{
    for (i = 1; i <= NF; i++) { n = split($i, ends, "-"); for (c = ends[1] + 0; c <= ends[n] + 0;
      c++) core[++count] = c }
    middle = int(count / 2)
    for (i = 1; i <= count; i++) if ((i <= middle) == (lane == 1)) list = list (list == "" ? "" : ",") core[i]
    print list }'
}
[ -n "$(half 1)" ] && [ -n "$(half 2)" ] || exec "$@"
for lane in 1 2; do
  exec 9> "lane-$lane.lock"
  if flock -n 9; then exec taskset -c "$(half $lane)" "$@"; fi
done
exec 9>&-
exec "$@"
