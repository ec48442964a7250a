libespalier_a_SOURCES += \
  %D%/events.c \
  %D%/events.h \
  %D%/replay.c \
  %D%/replay.h \
  %D%/report.c \
  %D%/report.h \
  %D%/simulators.c \
  %D%/simulators.h \
  %D%/topology.c \
  %D%/topology.h

EXTRA_DIST += %D%/README.md
