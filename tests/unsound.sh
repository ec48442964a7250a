#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A value that is not finite comes into a run: it ends with step, phase and ids, and an emergency snapshot; no
# checkpoint is made of it.
. "${srcdir:-.}/tests/harness.sh"
parts_model 1000
for ranks in 1 3; do
  go good-$ranks $ranks -n 2
  go good-$ranks $ranks -n 4 -r
  for field in pos vel acc_hard; do
    name=$field-$ranks
    cp -r "good-$ranks" "$name"
    "$here"/tests/poison "$name/out/checkpoints/checkpoint_000004" $field || exit 99
    go "$name" $ranks -r -P Checkpoints:TimeBetCheckpoints=0.0001
    ends 1 &&
      grep -q -E 'error: step 4, time [0-9.]+, phase [a-z]+: ([0-9]+ particles have|1 particle has) values that' \
      "$name/err" &&
      grep -q -E 'values that are not finite: ids? [0-9]+ \((position|velocity|acceleration)\)' "$name/err"
    ok $? "$ranks ranks, NaN in $field: step, phase and ids"
    [ -s "$name/out/emergency_000004.hdf5" ] && reports "$name" state=failed &&
      [ ! -e "$name/out/checkpoints/checkpoint_000005" ]
    ok $? "$ranks ranks, NaN in $field: an emergency snapshot, state=failed, no checkpoint"
    go "$name" $ranks -r 2
    ok $status "$ranks ranks, NaN in $field: the checkpoint before is good"
  done
done
finish
