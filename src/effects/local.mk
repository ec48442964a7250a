libespalier_a_SOURCES += \
  %D%/expansion.c \
  %D%/expansion.h \
  %D%/external_field.c \
  %D%/frame.c \
  %D%/frame.h
EXTRA_DIST += %D%/README.md
