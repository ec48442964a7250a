/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choice of sampled particles by a hash of their ids: it depends neither on ranks nor on the device. */
#ifndef SAMPLING_H
#define SAMPLING_H
#include <stdint.h>

#include "base/hd.h"

/* Hash of an id: the 64-bit finaliser of MurmurHash3. */
HD uint64_t sampling_hash(uint64_t x)
{
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}
#endif
