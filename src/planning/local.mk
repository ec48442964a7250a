libespalier_a_SOURCES += \
  %D%/job_script.c \
  %D%/job_script.h \
  %D%/pilot.c \
  %D%/pilot.h \
  %D%/plan_text.c \
  %D%/plan_text.h \
  %D%/planning.c \
  %D%/planning.h \
  %D%/seconds.c \
  %D%/seconds.h \
  %D%/storage.c \
  %D%/storage.h \
  %D%/system_at.c \
  %D%/system_at.h

EXTRA_DIST += %D%/README.md
