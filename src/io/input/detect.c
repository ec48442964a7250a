/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The format of a file, from its first bytes. */
#include <config.h>
#include <stdio.h>
#include <string.h>

#include "base/lines.h"
#include "io/input/input.h"
#include "io/input/set.h"

enum { BYTES_READ = 4096 };

static int is_hdf5(const struct input *in)
{
  char raw[8];
  struct fault none = {""};
  /* The signature is at offset 0 or after a user block of 512 bytes times a power of two. */
  for (int64_t at = 0; at + 8 <= in->size && at <= 1 << 20; at = at ? 2 * at : 512)
    if (input_bytes(in, at, raw, 8, &none) == 0 && memcmp(raw, "\211HDF\r\n\032\n", 8) == 0) return 1;
  return 0;
}

static enum ic_format gadget_kind(const char *raw)
{
  for (int swap = 0; swap < 2; swap++) {
    uint32_t first = bytes_u32(raw, swap);
    if (first == 8) return FORMAT_GADGET2;
    if (first == 256 || first == 192) return FORMAT_GADGET1;
  }
  return FORMAT_AUTO;
}

static int is_tipsy(const char *raw)
{
  for (int swap = 0; swap < 2; swap++) {
    uint32_t n = bytes_u32(raw + 8, swap), dimensions = bytes_u32(raw + 12, swap), sum = 0;
    for (int k = 0; k < 3; k++) sum += bytes_u32(raw + 16 + 4 * k, swap);
    if (dimensions >= 1 && dimensions <= 3 && sum == n) return 1;
  }
  return 0;
}

/* Text, or what begins as text and has NULs further on: the reader names the line with the NUL. */
static int is_text(const char *raw, int64_t n)
{
  enum { SHORTEST_LINE = 13 }; /* seven digits and what separates them */
  for (int64_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)raw[i];
    if (c == 0) return i >= SHORTEST_LINE;
    if (c < 32 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v') return 0;
  }
  return 1;
}

enum ic_format detect_format(const char *path, char text[128], struct fault *fault)
{
  char raw[BYTES_READ] = {0};
  struct input in;
  enum ic_format format = FORMAT_AUTO;
  if (input_open(&in, path, fault) != 0) return FORMAT_AUTO;
  int64_t n = in.size < BYTES_READ ? in.size : BYTES_READ;
  snprintf(text, 128, "the format is none of HDF5, GADGET 1 and 2, TIPSY, ASCII");
  if (n == 0) snprintf(text, 128, "the file is empty");
  else if (input_bytes(&in, 0, raw, n, fault) != 0) format = FORMAT_AUTO;
  else if (is_hdf5(&in)) format = FORMAT_HDF5;
  else if (n >= 4 && gadget_kind(raw) != FORMAT_AUTO) format = gadget_kind(raw);
  else if (n >= 28 && is_tipsy(raw)) format = FORMAT_TIPSY;
  else if (text_is_utf16(raw, n)) snprintf(text, 128, TEXT_UTF16);
  else if (is_text(raw, n)) format = FORMAT_ASCII;
  input_close(&in);
  return format;
}
