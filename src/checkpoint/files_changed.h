/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of the external field at a restart compared with those in the checkpoint's manifest. Local. */
#ifndef FILES_CHANGED_H
#define FILES_CHANGED_H
#include "checkpoint/manifest.h"
#include "params/params_external.h"

/* The entries of a manifest for these files: item[count], which lead to them. Returns count. */
int files_items(struct external_file *file, int count, struct item *item);
/* Check that the files of a restart are those of the manifest: whole files, and of tables the rows up to `time`, that
 * of the checkpoint. A manifest of an older version has no entries, and all files agree. 0; -1 with a fault. */
int files_changed(const char *manifest, const struct external_file *file, int count, double time, struct fault *fault);
#endif
