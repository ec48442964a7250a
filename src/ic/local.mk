libespalier_a_SOURCES += \
  %D%/hernquist.c \
  %D%/ic.c \
  %D%/ic.h \
  %D%/merger.c \
  %D%/models.h \
  %D%/plummer.c \
  %D%/random.h \
  %D%/uniform.c
EXTRA_DIST += %D%/README.md
