/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs of the CUDA backend, by file. Their contracts are in src/backend/: backend.h, let_verbs.h, link.h,
 * probe.h. */
#ifndef GPU_VERBS_H
#define GPU_VERBS_H
#include "backend/backend.h"
#include "backend/energy_verbs.h"
#include "backend/neighbour_list_verbs.h"
#include "backend/probe.h"
#include "backend/link.h"
#include "backend/let_verbs.h"
#ifdef __cplusplus
extern "C" {
#endif

/* device.cu */
int gpu_probe(char *why, size_t size);
void gpu_describe(FILE *out);
int gpu_memory(int node_rank, double *all, double *left);
void gpu_identify(int node_rank, struct device_identity *id);
void gpu_bypass(struct device *d, int on);
struct device *gpu_open(const struct device_config *config);
void gpu_close(struct device *d);
void gpu_upload(struct device *d, struct particles *particles);
void gpu_download(struct device *d, struct particles *particles);
const struct particles *gpu_view(struct device *d);
int64_t gpu_count(struct device *d);
void gpu_wait(struct device *d);
void gpu_record_event(struct device *d, int device_event);
double gpu_between(struct device *d, int from, int to);
/* ranges.cu */
void gpu_phase(const char *name);
/* sets.cu */
void gpu_bounds(struct device *d, double horizon, double low[3], double high[3]);
int64_t gpu_sample(struct device *d, uint64_t threshold, int sources, int64_t max_count, struct sample *out,
                   double *work);
void gpu_reduce(struct device *d, const struct field *field, struct sums *sums);
double gpu_rate(struct device *d, const struct field *field);
void gpu_histogram(struct device *d, int64_t *count);
void gpu_shares(struct device *d, int level, double sums[2]);
/* exchange.cu */
int64_t gpu_pack(struct device *d, const struct domain *domain, int self, int32_t tick, double tick_length,
                 int64_t *counts, void **buffer);
void *gpu_unpack_buffer(struct device *d, size_t bytes);
void gpu_unpack(struct device *d, const void *buffer, int64_t count);
/* order.cu, build.cu, moments.cu, groups.cu */
int64_t gpu_order(struct device *d, const struct lattice *lattice);
void gpu_reorder(struct device *d, int32_t tick, double tick_length, level_bands bands, int from);
void gpu_build(struct device *d, const double low[3], const double high[3]);
void gpu_moments(struct device *d, const struct mac *mac, int32_t tick, double tick_length);
void gpu_sources(struct device *d);
void gpu_groups(struct device *d);
void gpu_tune(struct device *d, enum tunable tunable, double value);
/* boxes.cu */
int gpu_boxes(struct device *d, const struct let_request *request, int max_count, struct let_box *boxes);
void gpu_begin_boxes(struct device *d, const struct let_request *request, int max_count);
void gpu_let_summary(struct device *d, const struct let_request *request, struct let_summary *summary);
int gpu_let_quads(const struct let_request *request);
/* choose.cu */
void gpu_let_select(struct device *d, enum let_kind kind, const struct let_request *request, int count,
                    struct let_choice *choice);
/* arrivals.cu; gpu_let_body: choose.cu */
void *gpu_let_buffer(struct device *d, enum let_kind kind, int peer, size_t bytes);
void gpu_let_attach(struct device *d, enum let_kind kind, int peer, size_t bytes, struct let_count *count);
void *gpu_let_body(struct device *d, enum let_kind kind, int peer);
void *gpu_let_body_buffer(struct device *d, enum let_kind kind, int peer, size_t bytes);
void gpu_let_upper(struct device *d, enum let_kind kind, int self, int64_t nodes, const struct node *node,
                   const float (*quad)[6]);
void gpu_let_clear(struct device *d, enum let_kind kind);
/* watch.cu */
void gpu_let_watch(struct device *d, const struct let_request *request);
int64_t gpu_violations(struct device *d, int64_t *late);
/* update.cu */
size_t gpu_let_update(struct device *d, int peer, int32_t tick, enum let_update_scope scope, int32_t *next,
                      void **message);
void *gpu_update_body(struct device *d, int peer);
void *gpu_update_buffer(struct device *d, int peer, size_t bytes);
size_t gpu_let_update_bytes_max(struct device *d, int peer);
int64_t gpu_let_apply(struct device *d, int peer, const void *message, size_t bytes);
/* forces.cu */
void gpu_walk(struct device *d, const struct walk_request *request, struct tally *tally);
int gpu_walks_at_once(struct device *d, const struct walk_request *request);
int gpu_keeps_tree(struct device *d);
/* energy.cu */
void gpu_energy_keep(struct device *d);
void gpu_energy_sums(struct device *d, double limit, struct potential_sums *sums);
int gpu_energy_heavy(struct device *d, double limit, struct heavy_particle *heavy);
void gpu_energy_set(struct device *d, int n, const struct heavy_particle *heavy, const double *pot);
/* neighbours.cu */
void gpu_remember(struct device *d, double numbers[REMEMBERED], int set);
/* advance.cu */
void gpu_advance(struct device *d, const struct list_request *request, int64_t n, const struct halo_particle *halo,
                 struct list_tally *tally);
void gpu_potential(struct device *d, const struct list_request *request, int64_t n, const struct halo_particle *halo);
/* loop.cu */
double gpu_pair_kinetic(struct device *d, const struct list_request *request, int64_t n,
                        const struct halo_particle *halo);
const struct unit_star *gpu_lent(struct device *d, int64_t *n);
void gpu_take_back(struct device *d, int64_t n, const struct unit_star *stars);
const struct list_collision *gpu_collisions(struct device *d, int64_t *n);
int gpu_lists_has(enum step_integrator integrator);
/* halo.cu */
struct halo_particle *gpu_halo(struct device *d, const struct list_request *request, int boxes, const double (*box)[6],
                               int skip, int64_t *counts);
/* direct.cu */
void gpu_direct(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, const uint8_t *type,
                const struct split *split, double (*acc)[3], double (*hard)[3], double *pot);
void gpu_nearest(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, int k, double *distance);
/* pairwise.cu */
double gpu_ceiling(struct device *d);
double gpu_pair_rate(struct device *d, int64_t n, int *share);
/* integrate.cu */
void gpu_kick(struct device *d, const struct field *field, double dt);
void gpu_push(struct device *d, const double *change);
void gpu_gravity(struct device *d, double gravity);
void gpu_add_field(struct device *d, const struct field *field, enum walk_kind kind, int split, int32_t tick);
void gpu_split_soft(struct device *d);
int gpu_levels(struct device *d, const struct step_rule *rule, int shared);
int32_t gpu_next_tick(struct device *d);
int64_t gpu_select(struct device *d, int32_t tick, double tick_length, int64_t *outside);
void gpu_correct(struct device *d, int32_t tick, double tick_length, const struct step_rule *rule, int shared);
void gpu_drift_to_end(struct device *d, double tick_length);
void gpu_finish(struct device *d, double tick_length);

/* nccl.cu */
int gpu_link_probe(char *about, size_t size);
int gpu_link_key(char key[LINK_KEY], char *why, size_t size);
int gpu_link_open(struct device *d, const char key[LINK_KEY], int rank, int ranks, char *why, size_t size);
void gpu_link_close(struct device *d);
void gpu_link_post(struct device *d, int count, const struct link_message *message);
int gpu_link_done(struct device *d, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
