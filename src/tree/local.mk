libespalier_a_SOURCES += \
  %D%/cuboids.h \
  %D%/essential.h \
  %D%/halves.c \
  %D%/halves.h \
  %D%/keys.h \
  %D%/lattice.h \
  %D%/let_data.h \
  %D%/mac.h \
  %D%/octree.c \
  %D%/octree.h \
  %D%/upper.c \
  %D%/upper.h
EXTRA_DIST += %D%/README.md
