libespalier_a_SOURCES += \
  %D%/binaries.c \
  %D%/central.c \
  %D%/hernquist.c \
  %D%/ic.c \
  %D%/ic.h \
  %D%/king.c \
  %D%/masses.c \
  %D%/merger.c \
  %D%/models.h \
  %D%/options.c \
  %D%/plan.c \
  %D%/plummer.c \
  %D%/populations.c \
  %D%/random.h \
  %D%/slices.h \
  %D%/systems.c \
  %D%/uniform.c \
  %D%/virial.c
EXTRA_DIST += %D%/README.md
