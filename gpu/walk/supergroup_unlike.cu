/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of supergroups where the types differ in their softenings. */
#define UNLIKE 1
#include "gpu/walk/supergroup.cuh"
