libespalier_a_SOURCES += \
  %D%/accuracy.def \
  %D%/constants.h \
  %D%/criteria.h \
  %D%/integrators.c \
  %D%/integrators.h \
  %D%/params.c \
  %D%/params_accuracy.c \
  %D%/params_external.c \
  %D%/params_external.h \
  %D%/params_integrator.c \
  %D%/params.def \
  %D%/params.h \
  %D%/params_nearest.c \
  %D%/params_nearest.h \
  %D%/params_read.c \
  %D%/params_rules.c \
  %D%/params_softening.c \
  %D%/params_units.c \
  %D%/params_units.h \
  %D%/params_write.c \
  %D%/quantities.c \
  %D%/quantities.h \
  %D%/split_kernels.h
EXTRA_DIST += %D%/README.md
