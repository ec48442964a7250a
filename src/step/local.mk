libespalier_a_SOURCES += \
  %D%/choose.c \
  %D%/choose_again.c \
  %D%/choose_words.c \
  %D%/choose.h \
  %D%/close_pairs.c \
  %D%/close_pairs.h \
  %D%/energies.c \
  %D%/energies.h \
  %D%/expansion.c \
  %D%/expansion.h \
  %D%/find.c \
  %D%/find.h \
  %D%/hard.c \
  %D%/hard.h \
  %D%/kicks.c \
  %D%/kicks.h \
  %D%/plan.c \
  %D%/plan.h \
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
