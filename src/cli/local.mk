bin_PROGRAMS += espalier
espalier_SOURCES = \
  %D%/commands.c \
  %D%/commands.h \
  %D%/commands_convert.c \
  %D%/commands_groups.c \
  %D%/commands_galaxy.c \
  %D%/commands_ic.c \
  %D%/commands_info.c \
  %D%/commands_plan.c \
  %D%/commands_run.c \
  %D%/commands_study.c \
  %D%/commands_trace.c \
  %D%/commands_trace.h \
  %D%/info.c \
  %D%/info.h \
  %D%/main.c \
  %D%/manual.c \
  %D%/manual.h \
  %D%/options.c \
  %D%/overrides.c \
  %D%/overrides.h

EXTRA_DIST += %D%/README.md
