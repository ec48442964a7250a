/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which particles are samples: by their ids alone, so that neither ranks nor devices matter. */
#ifndef SAMPLING_H
#define SAMPLING_H
#include <stdint.h>

#include "hd.h"

/* A fixed mixing of the bits of an id (the finaliser of MurmurHash3). */
HD uint64_t sampling_hash(uint64_t x)
{
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}
#endif
