/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/revision.h"
const char *const revision =
#include "src/base/revision_string.h"
    ;
