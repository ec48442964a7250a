libespalier_a_SOURCES += \
  %D%/fof.h \
  %D%/fof_book.c \
  %D%/fof_book.h \
  %D%/fof_file.c \
  %D%/fof_find.c \
  %D%/fof_label.c \
  %D%/fof_length.c \
  %D%/fof_merge.c \
  %D%/fof_ranks.h \
  %D%/fof_remote.c \
  %D%/fof_sort.c \
  %D%/fof_tree.c \
  %D%/fof_tree.h
EXTRA_DIST += %D%/README.md
