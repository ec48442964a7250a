include %D%/let/local.mk
libespalier_a_SOURCES += %D%/comm.c %D%/comm.h %D%/cuts.c %D%/domain.c %D%/domain.h %D%/event.c %D%/event.h %D%/halo.c \
  %D%/halo.h %D%/message.c %D%/message.h %D%/recorder.c %D%/recorder.h %D%/start.c %D%/start.h %D%/transport.c \
  %D%/transport.h
EXTRA_DIST += %D%/README.md
