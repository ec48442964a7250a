/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What amusifier declares, for the worker in C++ and for the functions in C. */
#ifndef CALLS_H
#define CALLS_H
#ifdef __cplusplus
extern "C" {
#endif
#include "worker_code.h"
#ifdef __cplusplus
}
#endif
#endif
