/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The integrators of the hard part: one line each for the parameter `Integrator`, for the rules that depend on it, and
 * for the loops over neighbour lists (cpu/lists, gpu/neighbour_lists). No other code names one; tests/rules.sh checks
 * it. For C11 and CUDA. Snapshots and checkpoints state an integrator by its place, so a new one is the last line. */
#ifndef INTEGRATORS_H
#define INTEGRATORS_H
#ifdef __cplusplus
extern "C" {
#endif

/* Value; name in parameter files, and of the struct integrator_NAME in cpu/lists; where it integrates: WALKS (the first
 * line alone): from tree walks, or with Criterion = pairs from neighbour lists; LISTS: from neighbour lists; its
 * description; members of struct integrator_traits. */
#define INTEGRATORS(X)                                                                                               \
  X(LEAPFROG, leapfrog, WALKS,                                                                                       \
    "second order, from tree walks, or with Criterion = pairs from neighbour lists (Eta by rule: 0.05)",             \
    .radii_ratio = 2, .eta = 0.05, .eta_max = 0.05, .pair_drift = 2e-4, .pair_drift_power = 4)                       \
  X(HERMITE, hermite, LISTS,                                                                                         \
    "fourth order, from neighbour lists in double precision, for close encounters with little or no softening, with" \
    " Eta as the factor of the criterion of Aarseth (by rule 0.1 with the standard Accuracy)",                       \
    .has_error_model = 1, .keeps_levels = 1, .has_units = 1, .radii_ratio = 4, .eta = 0.1, .eta_power = 0.25,        \
    .eta_max = 0.2, .pair_drift = 2e-6, .pair_drift_power = 5)

#define INTEGRATOR_VALUE(value, ...) INTEGRATOR_##value,
enum step_integrator { INTEGRATORS(INTEGRATOR_VALUE) };
#define INTEGRATOR_ONE(...) +1
enum { INTEGRATOR_COUNT = 0 INTEGRATORS(INTEGRATOR_ONE), INTEGRATOR_OF_WALKS = 0 };

/* Texts: the names for the table of parameters, "; NAME: description" of all, and the settings with which the hard part
 * is integrated from neighbour lists. */
#define INTEGRATOR_NAME(value, name, ...) #name,
#define INTEGRATOR_NAMES(X) INTEGRATORS(INTEGRATOR_NAME)
#define INTEGRATOR_DESCRIPTION(value, name, where, description, ...) "; " #name ": " description
#define INTEGRATOR_TEXT_WALKS(name)
#define INTEGRATOR_TEXT_LISTS(name) "Integrator = " #name " or "
#define INTEGRATOR_TEXT(value, name, where, ...) INTEGRATOR_TEXT_##where(name)
#define INTEGRATES_FROM_LISTS INTEGRATORS(INTEGRATOR_TEXT) "Criterion = pairs"

struct integrator_traits {
  const char *name;
  int has_error_model; /* tuning/finder.h has its errors, which give the soft step and what EnergyError asks for */
  int keeps_levels;    /* the level that a particle proposes at the end of a soft step holds in the next one */
  int has_units;       /* without softening the backend may take pairs and groups of stars as units: by hermite only */
  double radii_ratio;  /* R2 / R1 by rule */
  /* Eta by rule, from neighbour lists: eta (error / 1e-5)^eta_power, at most eta_max, for the error of Accuracy */
  double eta, eta_power, eta_max;
  /* An orbit of a pair with e = 0.9 at Eta = 0.1 changes its binding energy by this part, which grows with this power
   * of Eta (measured). */
  double pair_drift, pair_drift_power;
};
extern const struct integrator_traits integrator_traits[INTEGRATOR_COUNT]; /* by enum step_integrator */
#ifdef __cplusplus
}
#endif
#endif
