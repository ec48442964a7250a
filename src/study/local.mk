libespalier_a_SOURCES += \
  %D%/at.c \
  %D%/bench.c \
  %D%/bench.h \
  %D%/curve.c \
  %D%/force.c \
  %D%/force.h \
  %D%/global_particles.c \
  %D%/global_particles.h \
  %D%/probes.c \
  %D%/probes.h \
  %D%/soft_step.c \
  %D%/soft_step.h \
  %D%/study.c \
  %D%/study.h \
  %D%/study_system.c \
  %D%/study_system.h \
  %D%/study_table.c \
  %D%/study_table.h \
  %D%/study_text.c \
  %D%/study_text.h \
  %D%/result_file.c \
  %D%/result_file.h \
  %D%/virtual.c \
  %D%/virtual.h \
  %D%/virtual_parts.h \
  %D%/virtual_real.c \
  %D%/virtual_stages.c \
  %D%/virtual_stages.h \
  %D%/virtual_trace.c \
  %D%/virtual_trace.h

EXTRA_DIST += %D%/README.md
