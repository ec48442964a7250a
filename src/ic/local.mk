libespalier_a_SOURCES += \
  %D%/ic.c \
  %D%/ic.h \
  %D%/models.h \
  %D%/random.h \
  %D%/plummer.c \
  %D%/hernquist.c \
  %D%/uniform.c \
  %D%/merger.c
