libespalier_a_SOURCES += \
  %D%/counted_step.c \
  %D%/counted_step.h \
  %D%/event_model.c \
  %D%/event_model.h \
  %D%/laws.c \
  %D%/laws.h \
  %D%/machine.c \
  %D%/machine.h \
  %D%/machine_bench.c \
  %D%/machine_bench.h \
  %D%/machine_file.c \
  %D%/machine_file.h \
  %D%/machine_fit.c \
  %D%/machine_fit.h \
  %D%/machine_measure.c \
  %D%/more_pairs.c \
  %D%/more_pairs.h \
  %D%/substep_lines.c \
  %D%/substep_lines.h \
  %D%/time_study.c \
  %D%/time_study.h \
  %D%/time_text.c \
  %D%/time_text.h

EXTRA_DIST += %D%/README.md
