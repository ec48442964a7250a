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
    .halo = gpu_halo,
    .advance = gpu_advance,
    .potential = gpu_potential,
};

static const struct backend_let gpu_let_verbs = {
    .boxes = gpu_boxes,
    .summary = gpu_let_summary,
    .select = gpu_let_select,
    .buffer = gpu_let_buffer,
    .attach = gpu_let_attach,
    .body = gpu_let_body,
    .body_buffer = gpu_let_body_buffer,
    .upper = gpu_let_upper,
    .quads = gpu_let_quads,
    .clear = gpu_let_clear,
    .updates =
        {
            .watch = gpu_let_watch,
            .pack = gpu_let_update,
            .body = gpu_update_body,
            .buffer = gpu_update_buffer,
            .bytes_max = gpu_let_update_bytes_max,
            .apply = gpu_let_apply,
            .violations = gpu_violations,
        },
};

const struct backend backend_cuda = {
    .name = "cuda",
    .softens_by_type = 1,
    .tunes = 0,
    .methods = 1 << METHOD_GROUPS | 1 << METHOD_NEXT_MORE | 1 << METHOD_DIRECT | 1 << METHOD_AUTO,
    .particle_bytes = 400, /* measured: doc/measurements.md */
    .split_bytes = 500,    /* measured: doc/gpu-hard.md */
    .builds_fast_tree = 1,
    .rebuild_interval = 1,
    .probe = &gpu_probe_verbs,
    .energy = &gpu_energy_verbs,
    .exchange = &gpu_exchange_verbs,
    .neighbour_lists = &gpu_lists_verbs,
    .let = &gpu_let_verbs,
    .link = &gpu_link,
    .open = gpu_open,
    .close = gpu_close,
    .upload = gpu_upload,
    .download = gpu_download,
    .view = gpu_view,
    .count = gpu_count,
    .bounds = gpu_bounds,
    .sample = gpu_sample,
    .reduce = gpu_reduce,
    .order = gpu_order,
    .reorder = gpu_reorder,
    .build = gpu_build,
    .moments = gpu_moments,
    .sources = gpu_sources,
    .groups = gpu_groups,
    .tune = gpu_tune,
    .walk = gpu_walk,
    .walks_at_once = gpu_walks_at_once,
    .keeps_tree = gpu_keeps_tree,
    .gravity = gpu_gravity,
    .add_field = gpu_add_field,
    .nearest = gpu_nearest,
    .kick = gpu_kick,
    .push = gpu_push,
    .rate = gpu_rate,
    .split_soft = gpu_split_soft,
    .levels = gpu_levels,
    .next_tick = gpu_next_tick,
    .select = gpu_select,
    .correct = gpu_correct,
    .drift_to_end = gpu_drift_to_end,
    .finish = gpu_finish,
    .histogram = gpu_histogram,
    .shares = gpu_shares,
    .remember = gpu_remember,
    .wait = gpu_wait,
    .record_event = gpu_record_event,
    .between = gpu_between,
    .phase = gpu_phase,
};
