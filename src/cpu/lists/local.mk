libespalier_a_SOURCES += \
  %D%/bound_pairs.c \
  %D%/bound_pairs.h \
  %D%/halo.c \
  %D%/integrator_hermite.c \
  %D%/integrator_leapfrog.c \
  %D%/integrator_units.c \
  %D%/loop_levels.c \
  %D%/making.c \
  %D%/neighbour_lists.c \
  %D%/neighbour_lists.h \
  %D%/subsystems.c \
  %D%/unit_changes.c \
  %D%/unit_collisions.c \
  %D%/unit_facts.c \
  %D%/unit_forces.c \
  %D%/units.c \
  %D%/units.h
EXTRA_DIST += %D%/README.md
