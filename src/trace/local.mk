libespalier_a_SOURCES += \
  %D%/events.c \
  %D%/events.h

EXTRA_DIST += %D%/README.md
