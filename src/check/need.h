/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that a rank will need on its host. Pure. Bytes. */
#ifndef NEED_H
#define NEED_H

struct need_input {
  double particles; /* of a rank, on average */
  int ranks;
  int hybrid;            /* 1: the split is on, at least at first */
  int on_device;         /* 1: the particles are on a device, and the host has copies of them for files and messages */
  double particle_bytes; /* of all fields of a particle (particles/particles.h) */
  double baseline;       /* resident set of a process before it has particles, with MPI */
};

/* The parts of the estimate. */
struct memory_need {
  double fixed;     /* libraries and buffers of files */
  double particles; /* the rank's own particles, trees and scratch arrays */
  double lets;      /* LETs of other ranks and their messages */
};

/* Estimate from the table of bytes per particle, before particles are read. An upper bound for systems as concentrated
 * as a Hernquist sphere; LETs are the uncertain part. */
struct memory_need need_estimate(const struct need_input *in);
/* What runs need within a few per cent, to plan with; need_estimate is for refusals. in->hybrid is that of the
 * scheme. */
enum need_scheme { NEED_SHARED, NEED_BLOCK, NEED_HYBRID };
struct memory_need need_expected(const struct need_input *in, enum need_scheme scheme);
/* Total of the parts. */
double need_total(const struct memory_need *need);
/* Total where resident sets were measured in a whole soft step: the largest so far, `peak`, and that at its end, `now`,
 * both of the rank with the most. What files need is added. */
double need_measured(const struct need_input *in, double peak, double now);
/* Bytes of a checkpoint of `particles` on so many ranks; of a rank's particles on a CUDA device. */
double need_checkpoint(double particles, int ranks, double particle_bytes);
double need_device(double particles, int hybrid);
#endif
