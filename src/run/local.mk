libespalier_a_SOURCES += \
  %D%/assess.c \
  %D%/check.c \
  %D%/check.h \
  %D%/continuation.c \
  %D%/continuation.h \
  %D%/control.c \
  %D%/control.h \
  %D%/guard.c \
  %D%/guard.h \
  %D%/kept.c \
  %D%/logs.c \
  %D%/logs.h \
  %D%/outputs.c \
  %D%/outputs.h \
  %D%/rescue.c \
  %D%/run.c \
  %D%/run.h \
  %D%/run_loop.c \
  %D%/run_parts.h \
  %D%/run_save.c \
  %D%/run_start.c \
  %D%/start.c \
  %D%/start.h \
  %D%/state.c \
  %D%/state.h \
  %D%/step_columns.h \
  %D%/terminal.c \
  %D%/terminal.h \
  %D%/traffic.c \
  %D%/traffic.h

EXTRA_DIST += %D%/README.md
