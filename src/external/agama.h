/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Potentials of Agama (Vasiliev 2019), a library for galaxy models, by its C interface (src/interface_c.h there). The
 * library is loaded at run time, so the program needs none to be built. Local. */
#ifndef AGAMA_H
#define AGAMA_H
#include "base/fault.h"
#include "params/params_external.h"

struct agama;

/* Load the library (`library` empty: libagama.so, then agama.so) and create the potential: `text` names a file, or is
 * the parameters themselves where it has a '='. NULL with a fault. Owner: caller (agama_close). */
struct agama *agama_open(const char *library, const char *text, struct fault *fault);
/* The files that a potential is made from: the one that `text` names, and those that its lines or `text` name as values
 * of keys (file=coefficients.txt); at most `most`, whose last one has the checksum of all others too. Returns their
 * number. */
int agama_files(const char *text, struct external_file *file, int most);
/* NULL is allowed. */
void agama_close(struct agama *agama);
/* Potential at x, its gradient, and its second derivatives xx yy zz xy yz zx (may be NULL), for a gravitational
 * constant of 1. Any number of threads may call at once. */
double agama_at(const struct agama *agama, const double x[3], double time, double gradient[3], double second[6]);
#endif
