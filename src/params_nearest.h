/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hints for messages about names that are not known. Each hint starts with "; " or is empty. */
#ifndef PARAMS_NEAREST_H
#define PARAMS_NEAREST_H
#include <stddef.h>

int section_known(const char *name);
/* "; did you mean [Gravity]?" or the list of sections. */
void section_hint(const char *name, char *hint, size_t size);
/* "; did you mean 'Softening'?", "; it belongs in [Gravity]" or the section's parameters. */
void param_hint(const char *section, const char *name, char *hint, size_t size);
/* "; did you mean 'run.ini'?" from the files beside it, without the file `but` (may be NULL), or nothing. */
void file_hint(const char *path, const char *but, char *hint, size_t size);
#endif
