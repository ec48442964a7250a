/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "params/integrators.h"

const struct integrator_traits integrator_traits[] = {
#define TRAITS(value, name, where, description, ...) [INTEGRATOR_##value] = {#name, __VA_ARGS__},
    INTEGRATORS(TRAITS)
#undef TRAITS
};
