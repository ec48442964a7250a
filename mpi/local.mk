libespalier_a_SOURCES += %D%/comm.c %D%/comm.h %D%/contact.c %D%/cuts.c %D%/domain.c %D%/domain.h %D%/event.c %D%/event.h %D%/halo.c %D%/halo.h %D%/let.c %D%/let.h %D%/let_parts.h %D%/let_peer.c %D%/let_peer.h %D%/let_round.c %D%/let_update.c %D%/message.c %D%/message.h %D%/recorder.c %D%/recorder.h %D%/transport.c %D%/transport.h
EXTRA_DIST += %D%/README.md
