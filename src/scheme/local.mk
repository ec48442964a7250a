libespalier_a_SOURCES += \
  %D%/close_pairs.c \
  %D%/close_pairs.h \
  %D%/collisions.c \
  %D%/collisions.h \
  %D%/collisions_table.c \
  %D%/collisions_table.h \
  %D%/neighbour_lists.c \
  %D%/neighbour_lists.h \
  %D%/schemes.c \
  %D%/schemes.h \
  %D%/substeps.c \
  %D%/substeps.h \
  %D%/tree_steps.c \
  %D%/tree_steps.h
EXTRA_DIST += %D%/README.md
