libespalier_a_SOURCES += \
  %D%/changes.c \
  %D%/changes.h \
  %D%/effects.c \
  %D%/effects.h \
  %D%/effort.c \
  %D%/effort.h \
  %D%/energies.c \
  %D%/energies.h \
  %D%/plan.c \
  %D%/plan.h \
  %D%/schedule.c \
  %D%/schedule.h \
  %D%/schedule_print.c \
  %D%/scheme.h \
  %D%/sim.c \
  %D%/sim.h \
  %D%/step.c \
  %D%/step.h \
  %D%/substep_log.c \
  %D%/substep_log.h \
  %D%/timed.c \
  %D%/timed.h
EXTRA_DIST += %D%/README.md
