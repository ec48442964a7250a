/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The integrators of Integrator, in the order of the names in params.def. */
#ifndef INTEGRATORS_H
#define INTEGRATORS_H

enum step_integrator { INTEGRATOR_LEAPFROG, INTEGRATOR_HERMITE };
#endif
