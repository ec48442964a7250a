libespalier_a_SOURCES += \
  %D%/backend.c \
  %D%/backend.h \
  %D%/energy_verbs.h \
  %D%/field_sums.h \
  %D%/neighbour_list_verbs.h \
  %D%/let_sizes.h \
  %D%/let_verbs.h \
  %D%/link.h \
  %D%/probe.h
EXTRA_DIST += %D%/README.md
