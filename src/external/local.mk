libespalier_a_SOURCES += \
  %D%/agama.c \
  %D%/agama.h \
  %D%/external.c \
  %D%/external.h \
  %D%/orbit.c \
  %D%/orbit.h
EXTRA_DIST += %D%/README.md
