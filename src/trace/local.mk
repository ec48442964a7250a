libespalier_a_SOURCES += \
  %D%/clock.c \
  %D%/clock.h \
  %D%/efficiency.c \
  %D%/efficiency.h \
  %D%/events.c \
  %D%/events.h \
  %D%/network.c \
  %D%/network.h \
  %D%/replay.c \
  %D%/replay.h \
  %D%/report.c \
  %D%/report.h \
  %D%/simulators.c \
  %D%/simulators.h

EXTRA_DIST += %D%/README.md
