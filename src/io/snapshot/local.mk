libespalier_a_SOURCES += \
  %D%/snapshot.c \
  %D%/snapshot.h \
  %D%/snapshot_create.c \
  %D%/snapshot_file.h \
  %D%/snapshot_names.c \
  %D%/snapshot_rows.c
EXTRA_DIST += %D%/README.md
