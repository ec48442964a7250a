/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REVISION_H
#define REVISION_H
/* The git revision of the sources of this build. */
extern const char *const revision;
#endif
