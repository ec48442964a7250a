libespalier_a_SOURCES += \
  %D%/particles.c \
  %D%/particles.h \
  %D%/sampling.h \
  %D%/softening.h \
  %D%/sums.h \
  %D%/timeline.c \
  %D%/timeline.h
EXTRA_DIST += %D%/README.md
