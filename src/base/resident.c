/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/resident.h"

#include <stdio.h>
#include <string.h>

/* The value of a line "NAME:  123 kB" of /proc/self/status, in bytes. */
static double status_bytes(const char *name)
{
  char line[256];
  double kilobytes = 0;
  size_t length = strlen(name);
  FILE *in = fopen("/proc/self/status", "r");
  if (!in) return 0;
  while (fgets(line, sizeof line, in))
    if (strncmp(line, name, length) == 0 && line[length] == ':' && sscanf(line + length + 1, "%lf", &kilobytes) == 1)
      break;
  fclose(in);
  return kilobytes * 1024;
}

double resident_now(void) { return status_bytes("VmRSS"); }
double resident_peak(void) { return status_bytes("VmHWM"); }
double resident_files(void) { return status_bytes("RssFile"); }
