libespalier_a_SOURCES += \
  %D%/components.c \
  %D%/components.h \
  %D%/derived.c \
  %D%/measure.c \
  %D%/measure.h \
  %D%/need.c \
  %D%/need.h \
  %D%/physics.c \
  %D%/physics.h \
  %D%/physics_print.c \
  %D%/placement.c \
  %D%/placement.h

EXTRA_DIST += %D%/README.md
