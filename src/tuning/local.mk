libespalier_a_SOURCES += \
  %D%/brent.c \
  %D%/brent.h \
  %D%/errors.c \
  %D%/errors.h \
  %D%/finder.c \
  %D%/finder.h \
  %D%/tuner.c \
  %D%/tuner.h \
  %D%/tuning.c \
  %D%/tuning.h
EXTRA_DIST += %D%/README.md
