libespalier_a_SOURCES += \
  %D%/checkpoint.c \
  %D%/checkpoint.h \
  %D%/checkpoint_list.c \
  %D%/checkpoint_list.h \
  %D%/checkpoint_read.c \
  %D%/files_changed.c \
  %D%/files_changed.h \
  %D%/manifest.c \
  %D%/manifest.h \
  %D%/params_changed.c \
  %D%/params_changed.h \
  %D%/recall.c \
  %D%/recall.h \
  %D%/sections.c \
  %D%/sections.h
EXTRA_DIST += %D%/README.md
