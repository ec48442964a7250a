/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "revision.h"
const char *const revision =
#include "src/revision_string.h"
    ;
