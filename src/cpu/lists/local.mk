libespalier_a_SOURCES += \
  %D%/bound_pairs.c \
  %D%/bound_pairs.h \
  %D%/halo.c \
  %D%/integrator_hermite.c \
  %D%/integrator_leapfrog.c \
  %D%/making.c \
  %D%/neighbour_lists.c \
  %D%/neighbour_lists.h \
  %D%/subsystems.c
EXTRA_DIST += %D%/README.md
