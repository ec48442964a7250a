libespalier_a_SOURCES += \
  %D%/agama.c \
  %D%/agama.h \
  %D%/external.c \
  %D%/external.h \
  %D%/orbit.c \
  %D%/orbit.h \
  %D%/tide.c
EXTRA_DIST += %D%/README.md
