/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The messages of LETs: marked nodes and their particles are copied to their places. A warp processes as many words of
 * marks at a time as it has lanes for their nodes. */
#include <config.h>
#include "gpu/let/choice.cuh"
#include "backend/let_verbs.h"

enum { PACK_WORDS = 4, WORDS_AT_ONCE = LANES / MARKED }; /* words of marks for each warp, in all and at a time */

/* The arrays of a message; NULL: it has none. */
struct packing {
  struct node *node;
  struct motion *motion;
  struct quad *quad;
  struct body *body;
  struct motion_state *motion_state;
  int32_t *node_from, *body_from;
};
struct packings {
  struct packing of[RECEIVERS_MAX];
};

static __device__ void pack_node(const struct choose_job &job, const struct packing &to, int32_t i,
                                 const struct node &record, int32_t at)
{
  int4 *out = (int4 *)&to.node[at];
  out[0] = make_int4(record.x[0], record.x[1], record.x[2], __float_as_int(record.mass));
  out[1] = make_int4(__float_as_int(record.b), __float_as_int(record.reach), record.first, (int)record.info);
  if (to.motion) {
    const float4 *from = (const float4 *)&job.t.motion[i];
    ((float4 *)&to.motion[at])[0] = from[0];
    ((float4 *)&to.motion[at])[1] = from[1];
  }
  for (int k = 0; k < 3 && to.quad; k++) ((float2 *)&to.quad[at])[k] = ((const float2 *)&job.t.quad[i])[k];
  if (to.node_from) to.node_from[at] = i;
}

static __device__ void pack_body(const struct choose_job &job, const struct packing &to, int32_t j, int32_t at)
{
  to.body[at] = job.t.body[j];
  if (!to.motion_state) return;
  to.motion_state[at] = job.t.motion_state[j];
  to.body_from[at] = j;
}

/* The number of particles that are sent, of `count` from `first` on. */
static __device__ int kept_of(const struct choose_job &job, const unsigned *keep, int32_t first, int count)
{
  if (job.query.cutoff < 0) return count;
  int kept = 0;
  for (int32_t j = first, end = first + count; j < end;) {
    int32_t next = min(end, (j / MARKED + 1) * MARKED);
    unsigned bits = keep[j / MARKED] >> j % MARKED;
    kept += bit_count(next - j < MARKED ? bits & ((1u << (next - j)) - 1) : bits);
    j = next;
  }
  return kept;
}

/* Inclusive prefix sum over the lanes. */
static __device__ int sum_upto(int own)
{
  for (int step = 1; step < LANES; step *= 2) {
    int below = warp_shuffle_up(own, step);
    if (lane_id() >= step) own += below;
  }
  return own;
}

/* Pack the particles of a warp's leaves, `count` from `first` on for each lane, consecutively from `at` on. */
static __device__ void pack_bodies(const struct choose_job &job, const struct packing &to, const unsigned *keep,
                                   int32_t first, int count, int32_t at)
{
  int end = sum_upto(count), all = warp_shuffle(end, LANES - 1);
  for (int base = 0; base < all; base += LANES) {
    int k = base + lane_id(), leaf = 0;
    for (int step = LANES / 2; step > 0; step /= 2)
      if (warp_shuffle(end, leaf + step - 1) <= k) leaf += step; /* the lane whose leaf has particle k */
    int32_t j = warp_shuffle(first + count - end, leaf) + k;
    bool kept = k < all && (job.query.cutoff < 0 || keep[j / MARKED] >> j % MARKED & 1);
    lane_mask lanes = warp_ballot(kept);
    if (kept) pack_body(job, to, j, at + lane_count(lanes & lanes_below()));
    at += lane_count(lanes);
  }
}

/* Pack the nodes of WORDS_AT_ONCE words of marks from w on, by one warp, a lane a node. `word`: that of the lane; 0
 * beyond the last one. */
static __device__ void pack_words(const struct choose_job &job, const struct packing &to, int32_t r, int32_t w,
                                  uint64_t word)
{
  const uint64_t *mark = (const uint64_t *)job.mark + (int64_t)r * job.words,
                 *sum = (const uint64_t *)job.sum + (int64_t)r * job.words;
  const unsigned *keep = job.keep + (int64_t)r * job.keep_words;
  int32_t mine = min(w + lane_id() / MARKED, job.words - 1);
  const uint64_t base = sum[mine] - sum[0];
  int bit = lane_id() % MARKED, first_body = place_body(sum[w] - sum[0]);
  uint8_t own = choose_marked(word, bit);
  int32_t i = job.origin + w * MARKED + lane_id();
  struct node n = {};
  if (own != MARK_NONE) n = load_node(&job.t.node[i]);
  int count = own == MARK_OPEN && n.info & NODE_LEAF ? (int)(n.info & NODE_COUNT) : 0;
  int kept = kept_of(job, keep, n.first, count);
  int32_t body = first_body + sum_upto(kept) - kept;
  pack_bodies(job, to, keep, n.first, count, first_body);
  n.first -= n.info & NODE_LEAF ? 0 : job.origin; /* children are looked up by their marks */
  if (own != MARK_NONE)
    pack_node(job, to, i, choose_record(&n, own, mark, sum, body, kept),
              place_node(base) + bit_count(choose_included(word) & ((1u << bit) - 1)));
}

static __global__ void __launch_bounds__(THREADS)
    pack(const __grid_constant__ struct choose_job job, const __grid_constant__ struct packings to)
{
  int64_t k = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / LANES;
  int32_t each = (job.words + PACK_WORDS - 1) / PACK_WORDS, r = (int32_t)(k / each),
          w = (int32_t)(k % each) * PACK_WORDS;
  if (r >= job.receivers) return;
  uint64_t own =
      lane_id() < PACK_WORDS && w + lane_id() < job.words ? job.mark[(int64_t)r * job.words + w + lane_id()] : 0;
  for (int at = 0; at < PACK_WORDS; at += WORDS_AT_ONCE) {
    uint64_t word = warp_shuffle(own, at + lane_id() / MARKED);
    if (warp_any(word != 0)) pack_words(job, to.of[r], r, w + at, word);
  }
}

static struct packing packing_of(enum let_kind kind, struct outgoing_let *out, const struct let_layout &at)
{
  char *block = array_reserve(&out->packed, "device LETs", (int64_t)at.bytes);
  struct packing to = {(struct node *)(block + at.node)};
  to.body = (struct body *)(block + at.body);
  if (out->quad) to.quad = (struct quad *)(block + at.quad);
  if (kind == LET_SOFT) return to;
  to.motion = (struct motion *)(block + at.motion);
  to.motion_state = (struct motion_state *)(block + at.motion_state);
  to.node_from = array_reserve(&out->node_from, "device LETs", out->nodes);
  to.body_from = array_reserve(&out->body_from, "device LETs", out->bodies);
  return to;
}

void pack_messages(struct device *d, enum let_kind kind, int32_t motion_tick, const struct choose_job &job,
                   struct let_choice *const *choice)
{
  const struct selection_counts *host_results = d->let->choosing->host_results;
  struct let_layout at[RECEIVERS_MAX];
  struct packings to = {};
  for (int r = 0; r < job.receivers; r++) {
    struct let_choice *c = choice[r];
    struct outgoing_let *out = &d->let->out[kind][c->peer];
    out->nodes = place_node(host_results->total[r]);
    out->bodies = place_body(host_results->total[r]);
    at[r] = let_layout(out->nodes, out->bodies, out->quad, kind != LET_SOFT);
    to.of[r] = packing_of(kind, out, at[r]);
    c->bytes = at[r].bytes;
    c->message = pinned_reserve(&out->host_results, d->bypass ? sizeof(struct let_head) : c->bytes);
    if (kind != LET_SOFT) c->next = TICKS - host_results->ticks_left_max[r];
    struct let_head head = {LET_FORMAT, out->quad, kind != LET_SOFT, motion_tick, out->nodes, out->bodies};
    memcpy(c->message, &head, sizeof head);
  }
  LAUNCH(d, pack, blocks_for((int64_t)job.receivers * ((job.words + PACK_WORDS - 1) / PACK_WORDS), THREADS / LANES),
         THREADS, job, to);
  for (int r = 0; r < job.receivers && !d->bypass; r++)
    CHECK(runtime_copy((char *)choice[r]->message + at[r].node,
                       d->let->out[kind][choice[r]->peer].packed.at + at[r].node, at[r].bytes - at[r].node, TO_HOST,
                       d->stream));
}
