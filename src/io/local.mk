libespalier_a_SOURCES += %D%/initial.h %D%/initial.c %D%/set.h %D%/set.c %D%/detect.c %D%/input.h %D%/input.c %D%/ids.c \
  %D%/gadget.c %D%/tipsy.c %D%/ascii.c %D%/hdf5_in.c %D%/columns.h %D%/columns.c %D%/h5.h %D%/h5.c \
  %D%/snapshot.h %D%/snapshot.c %D%/snapshot_parts.h %D%/snapshot_create.c %D%/snapshot_rows.c
