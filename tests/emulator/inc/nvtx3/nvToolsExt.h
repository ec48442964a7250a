/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
static inline int nvtxRangePop(void) { return 0; }
static inline int nvtxRangePushA(const char *) { return 0; }
