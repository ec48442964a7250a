/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard part from neighbour lists (backend/neighbour_list_verbs.h): the parts of a soft step, and sums over a list.
 * The sums of the Hermite scheme are struct hermite_force, those of kick-drift-kick struct pair_kick.
 *
 * Particles that have neighbours are the members. They are numbered in the order of the particles, first those of this
 * rank, then those of the halo. A pair is in both lists or in none, so the neighbours of members are members. The
 * entries of a list ascend, and its sum has an order that depends on its length alone; so results depend neither on the
 * number of thread blocks nor on their speed. */
#ifndef GPU_NEIGHBOUR_LISTS_CUH
#define GPU_NEIGHBOUR_LISTS_CUH
#include "gpu/device/device.cuh"
#include "particles/softening.h"

/* Lists longer than LIST_SHORT have a warp to themselves. */
enum { LIST_SHORT = 32, SHORT_LANES = 8 };

/* What all sums need. */
struct list_sum {
  const struct member_list *list;
  const int32_t *entry;
  struct split split;
  double eps2;
  int one_radius; /* 1: all particles have the same radii, those of `common` */
  struct hermite_split common;
  /* 1: softenings differ; the factors of particles carry their classes (particles/softening.h), */
  int differ;
  double class_eps2[SOFTENING_CLASSES]; /* whose squares these are */
};

/* Whose lists, and what their entries are: own particles, with particles; members, with members; all particles, with
 * particles, and room for further lists behind the entries (units.cuh). */
enum lists_of { LISTS_OF_OWN, LISTS_OF_MEMBERS, LISTS_OF_ALL };

/* Lists of d->p and halo[n]: pairs whose least distance on straight lines within `horizon` is below NEIGHBOUR_MARGIN
 * R2. d->lists.body, list and entry are set, with LISTS_OF_MEMBERS `who` too. The host waits. */
void lists_make(struct device *d, const struct list_request *request, double horizon, int64_t n,
                const struct halo_particle *halo, enum lists_of of);
/* The lists again, after d->lists.body was changed. */
void lists_make_again(struct device *d, const struct list_request *request, double horizon, int64_t n,
                      enum lists_of of);
struct list_sum list_sum_of(struct device *d, const struct list_request *request);

/* Add what one source gives. */
static __device__ __forceinline__ void list_add_pair(struct hermite_force *force, const double d[3], const double u[3],
                                                     double m, double eps2, const struct hermite_split *split)
{
  hermite_pair(force, d, u, m, eps2, split);
}
static __device__ __forceinline__ void list_add_pair(struct pair_kick *kick, const double d[3], const double u[3],
                                                     double m, double eps2, const struct hermite_split *split)
{
  pair_kick_add(kick, d, u, m, eps2, split);
}

/* Add what the entries first, first + stride, ... of a list give to a target at x with velocity v. `sources`: has
 * read(entry, x, v, gm, factor). */
template <class sources, class sum>
static __device__ void list_add(const struct list_sum &list_sum, const sources &at, const struct member_list &list,
                                const double x[3], const double v[3], float factor, int first, int stride, sum *f)
{
  struct hermite_split h = list_sum.common;
  for (int k = first; k < list.count; k += stride) {
    double y[3], u[3], gm;
    float other;
    at.read(list_sum.entry[list.begin + k], y, u, &gm, &other);
    for (int c = 0; c < 3; c++) {
      y[c] -= x[c];
      u[c] -= v[c];
    }
    if (!list_sum.one_radius) h = hermite_split_of(&list_sum.split, factor, other);
    list_add_pair(f, y, u, gm,
                  list_sum.differ ? list_sum.class_eps2[max(softening_class(factor), softening_class(other))]
                                  : list_sum.eps2,
                  &h);
  }
}

/* Sum over `lanes` neighbouring lanes (a power of two); all lanes of the warp take part. All get the sum. */
static __device__ __forceinline__ double list_over_lanes(double x, int lanes)
{
  for (int step = lanes / 2; step > 0; step /= 2) x += warp_shuffle_xor(x, step);
  return x;
}
static __device__ __forceinline__ void list_join(struct hermite_force *force, int lanes)
{
  for (int c = 0; c < 3; c++) {
    force->a[c] = list_over_lanes(force->a[c], lanes);
    force->j[c] = list_over_lanes(force->j[c], lanes);
  }
}
static __device__ __forceinline__ void list_join(struct pair_kick *kick, int lanes)
{
  for (int c = 0; c < 3; c++) kick->a[c] = list_over_lanes(kick->a[c], lanes);
  for (int step = lanes / 2; step > 0; step /= 2) kick->rate = fmax(kick->rate, warp_shuffle_xor(kick->rate, step));
}
/* The potential too. */
static __device__ __forceinline__ void list_join_all(struct hermite_force *force, int lanes)
{
  list_join(force, lanes);
  force->psi = list_over_lanes(force->psi, lanes);
}
static __device__ __forceinline__ void list_join_all(struct pair_kick *kick, int lanes) { list_join(kick, lanes); }

/* Sources that are at the time of the sum: at the begin of the soft step, or predicted. */
struct list_bodies {
  const struct list_body *body;
  const int32_t *who; /* NULL: entries are particles */
  __device__ __forceinline__ void read(int32_t k, double x[3], double v[3], double *gm, float *factor) const
  {
    const struct list_body &b = body[who ? who[k] : k];
    for (int c = 0; c < 3; c++) {
      x[c] = b.x[c];
      v[c] = b.v[c];
    }
    *gm = b.gm;
    *factor = b.factor;
  }
};

/* Forces at the begin of the soft step on the targets 4 w to 4 w + 3 of warp w: by SHORT_LANES lanes each where the
 * list is short, otherwise by all lanes. `storing` has the type `sum`; open(&sum, gm of the target); store(k, body,
 * entries, sum), which one lane calls. */
template <class storing>
static __device__ void list_begin_forces(const struct list_sum &list_sum, const struct list_bodies &at, int64_t n,
                                         const storing &to)
{
  int64_t warp = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / LANES, first = warp * (LANES / SHORT_LANES);
  int lane = lane_id();
  /* pass 0: all short lists; pass k: the list of target k - 1, if it is long */
  for (int pass = 0; pass <= LANES / SHORT_LANES; pass++) {
    int64_t k = pass == 0 ? first + lane / SHORT_LANES : first + pass - 1;
    int lanes = pass == 0 ? (int)SHORT_LANES : (int)LANES, sub = lane % lanes;
    typename storing::sum f = {};
    struct member_list l = {0, 0, 0};
    if (k < n) l = list_sum.list[k];
    bool mine = k < n && (l.count > LIST_SHORT) == (pass > 0);
    if (pass > 0 && !mine) continue;
    const struct list_body *b = mine ? &at.body[at.who ? at.who[k] : k] : NULL;
    if (mine) to.open(&f, b->gm);
    if (mine) list_add(list_sum, at, l, b->x, b->v, b->factor, sub, lanes, &f);
    list_join_all(&f, lanes);
    if (mine && sub == 0) to.store(k, *b, l.count, f);
  }
}
#endif
