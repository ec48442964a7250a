libespalier_a_SOURCES += \
  %D%/ascii.c \
  %D%/detect.c \
  %D%/gadget.c \
  %D%/hdf5_in.c \
  %D%/ids.c \
  %D%/initial.c \
  %D%/initial.h \
  %D%/input.c \
  %D%/input.h \
  %D%/set.c \
  %D%/set.h \
  %D%/tipsy.c
