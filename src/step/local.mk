libespalier_a_SOURCES += \
  %D%/close_pairs.c \
  %D%/close_pairs.h \
  %D%/diagnostics.c \
  %D%/diagnostics.h \
  %D%/energies.c \
  %D%/energies.h \
  %D%/find.c \
  %D%/find.h \
  %D%/frame.c \
  %D%/frame.h \
  %D%/hard.c \
  %D%/hard.h \
  %D%/plan.c \
  %D%/plan.h \
  %D%/radius.c \
  %D%/radius.h \
  %D%/same_place.c \
  %D%/same_place.h \
  %D%/schedule.c \
  %D%/schedule.h \
  %D%/schedule_print.c \
  %D%/sim.c \
  %D%/sim.h \
  %D%/step.c \
  %D%/step.h \
  %D%/substep_log.c \
  %D%/substep_log.h \
  %D%/substeps.c \
  %D%/substeps.h
EXTRA_DIST += %D%/README.md
