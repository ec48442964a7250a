libespalier_a_SOURCES += \
  %D%/ascii.c \
  %D%/detect.c \
  %D%/gadget.c \
  %D%/hdf5_files.c \
  %D%/hdf5_files.h \
  %D%/hdf5_in.c \
  %D%/hdf5_spans.c \
  %D%/hdf5_spans.h \
  %D%/hdf5_storage.c \
  %D%/hdf5_storage.h \
  %D%/ids.c \
  %D%/initial.c \
  %D%/initial.h \
  %D%/input.c \
  %D%/input.h \
  %D%/points.c \
  %D%/points.h \
  %D%/set.c \
  %D%/set.h \
  %D%/set_rows.c \
  %D%/tipsy.c
