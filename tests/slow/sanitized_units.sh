#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# slow/sanitizers.sh without the tests by script; its build stays for sanitized_scripts.sh.
ESPALIER_SANITIZE=unit
export ESPALIER_SANITIZE
exec sh "${srcdir:-.}/tests/slow/sanitizers.sh"
