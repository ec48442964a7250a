/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An HDF5 file of maps, which is laid out in memory and written as a whole, so that no file is ever incomplete. For one
 * rank. */
#ifndef MAP_FILE_H
#define MAP_FILE_H
#include "io/h5.h"

#include "base/fault.h"
#include "params/params.h"

/* What a file of maps states, in the group Header. */
struct map_facts {
  const struct params *par; /* units */
  double time, gravity;     /* internal units */
  long long step;
  double centre[3], half; /* of the maps, in the user's frame; half of their width */
};

/* Begin a file in memory. Returns the file; < 0 with a fault. */
hid_t map_file_create(const struct map_facts *facts, struct fault *fault);
/* Add the dataset group/name of [pixels][pixels] values, compressed where HDF5 can. The group is made where it does not
 * exist. 0, or -1 with a fault. */
int map_file_add(hid_t file, const char *group, const char *name, int pixels, const float *value, struct fault *fault);
/* Let `group` be another name of the group `as`. 0, or -1 with a fault. */
int map_file_alias(hid_t file, const char *group, const char *as, struct fault *fault);
/* Close the file and write it to `path` by way of path.tmp, which is flushed to the disk and renamed; with a fault
 * already set nothing is written. 0, or -1 with a fault: then `path` is as it was. */
int map_file_write(hid_t file, const char *path, struct fault *fault);
#endif
