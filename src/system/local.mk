libespalier_a_SOURCES += \
  %D%/diagnostics.c \
  %D%/diagnostics.h \
  %D%/radius.c \
  %D%/radius.h \
  %D%/same_place.c \
  %D%/same_place.h
EXTRA_DIST += %D%/README.md
