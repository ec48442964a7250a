/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REVISION_H
#define REVISION_H
extern const char *const revision;
#endif
