libespalier_a_SOURCES += \
  %D%/convert.c \
  %D%/convert.h \
  %D%/gadget_out.c \
  %D%/text_out.c
EXTRA_DIST += %D%/README.md
