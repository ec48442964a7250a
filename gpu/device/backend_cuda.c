/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CUDA backend's table. */
#include <config.h>
#include "gpu/device/verbs.h"
#include "backend/let_verbs.h"
#include "backend/link.h"
#include "backend/probe.h"

static const struct backend_probe gpu_probe_verbs = {
    .count = gpu_probe,
    .describe = gpu_describe,
    .memory = gpu_memory,
    .identify = gpu_identify,
    .ceiling = gpu_ceiling,
    .pair_rate = gpu_pair_rate,
    .direct = gpu_direct,
};

static const struct backend_exchange gpu_exchange_verbs = {
    .bypass = gpu_bypass,
    .pack = gpu_pack,
    .unpack_buffer = gpu_unpack_buffer,
    .unpack = gpu_unpack,
};

static const struct backend_energy gpu_energy_verbs = {
    .keep = gpu_energy_keep,
    .sums = gpu_energy_sums,
    .heavy = gpu_energy_heavy,
    .set = gpu_energy_set,
};

static const struct backend_neighbour_lists gpu_lists_verbs = {
    .has = gpu_lists_has,
    .halo = gpu_halo,
    .advance = gpu_advance,
    .potential = gpu_potential,
    .pair_kinetic = gpu_pair_kinetic,
    .lent = gpu_lent,
    .take_back = gpu_take_back,
    .collisions = gpu_collisions,
};

static const struct backend_let gpu_let_verbs = {
    .boxes = gpu_boxes,
    .begin_boxes = gpu_begin_boxes,
    .summary = gpu_let_summary,
    .select = gpu_let_select,
    .buffer = gpu_let_buffer,
    .attach = gpu_let_attach,
    .body = gpu_let_body,
    .body_buffer = gpu_let_body_buffer,
    .upper = gpu_let_upper,
    .quads = gpu_let_quads,
    .clear = gpu_let_clear,
    .updates.watch = gpu_let_watch,
    .updates.pack = gpu_let_update,
    .updates.body = gpu_update_body,
    .updates.buffer = gpu_update_buffer,
    .updates.bytes_max = gpu_let_update_bytes_max,
    .updates.apply = gpu_let_apply,
    .updates.violations = gpu_violations,
};

static const struct link nccl_link = {"nccl",         gpu_link_probe, gpu_link_key, gpu_link_open,
                                      gpu_link_close, gpu_link_post,  gpu_link_done};

/* The same table with CUDA and with HIP. */
const struct backend backend_cuda = {
    .name = ESP_GPU_NAME,
    .softens_by_type = 1,
    .tunes = 0,
    .methods = 1 << METHOD_GROUPS | 1 << METHOD_NEXT_MORE | 1 << METHOD_DIRECT | 1 << METHOD_AUTO,
    .particle_bytes = CUDA_PARTICLE_BYTES,
    .split_bytes = CUDA_SPLIT_BYTES,
    .builds_fast_tree = 1,
    .rebuild_interval = 1,
    .probe = &gpu_probe_verbs,
    .energy = &gpu_energy_verbs,
    .exchange = &gpu_exchange_verbs,
    .neighbour_lists = &gpu_lists_verbs,
    .let = &gpu_let_verbs,
    .link = &nccl_link,
    .open = gpu_open,
    .close = gpu_close,
    .upload = gpu_upload,
    .download = gpu_download,
    .view = gpu_view,
    .count = gpu_count,
    .sets.bounds = gpu_bounds,
    .sets.sample = gpu_sample,
    .sets.reduce = gpu_reduce,
    .tree.order = gpu_order,
    .tree.reorder = gpu_reorder,
    .tree.build = gpu_build,
    .tree.moments = gpu_moments,
    .tree.sources = gpu_sources,
    .tree.groups = gpu_groups,
    .tree.tune = gpu_tune,
    .forces.walk = gpu_walk,
    .forces.walks_at_once = gpu_walks_at_once,
    .forces.keeps_tree = gpu_keeps_tree,
    .forces.gravity = gpu_gravity,
    .forces.add_field = gpu_add_field,
    .forces.nearest = gpu_nearest,
    .steps.kick = gpu_kick,
    .steps.push = gpu_push,
    .steps.rate = gpu_rate,
    .steps.split_soft = gpu_split_soft,
    .steps.levels = gpu_levels,
    .steps.next_tick = gpu_next_tick,
    .steps.select = gpu_select,
    .steps.correct = gpu_correct,
    .steps.drift_to_end = gpu_drift_to_end,
    .steps.finish = gpu_finish,
    .steps.histogram = gpu_histogram,
    .steps.shares = gpu_shares,
    .steps.remember = gpu_remember,
    .clock.wait = gpu_wait,
    .clock.record_event = gpu_record_event,
    .clock.between = gpu_between,
    .clock.phase = gpu_phase,
};
