/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hints for messages about unknown names, written to hint[size]. A hint begins with "; " or is empty. Local. */
#ifndef PARAMS_NEAREST_H
#define PARAMS_NEAREST_H
#include <stddef.h>

/* Returns 1 where the section exists. */
int section_known(const char *name);
/* Hint for an unknown section: "; did you mean [Gravity]?", or the list of sections. */
void section_hint(const char *name, char *hint, size_t size);
/* Hint for an unknown parameter of `section`: "; did you mean 'Softening'?", "; it belongs in [Gravity]",
 * what replaces a parameter of earlier versions or of GADGET, or the list of its parameters. */
void param_hint(const char *section, const char *name, char *hint, size_t size);
/* Hint for a line that is not 'Name = value', where it is one of GADGET's parameter files ('Name value', or '%' before
 * a comment): what to do, and what replaces the parameter; else "". `in_section`: a section has begun, as in no file of
 * GADGET. */
void gadget_hint(const char *line, int in_section, char *hint, size_t size);
/* Returns 1 for a parameter of earlier versions whose value asks for nothing: files that earlier versions wrote are
 * read. */
int param_without_effect(const char *name, const char *value);
/* Hint for a missing file from the files in the same folder except `but` (may be NULL): "; did you mean 'run.ini'?", or
 * "". */
void file_hint(const char *path, const char *but, char *hint, size_t size);
#endif
