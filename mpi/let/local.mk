libespalier_a_SOURCES += %D%/contact.c %D%/let.c %D%/let.h %D%/let_arrive.c %D%/let_arrive.h %D%/let_gather.c \
  %D%/let_gather.h %D%/let_parts.c %D%/let_parts.h %D%/let_peer.c %D%/let_peer.h %D%/let_round.c %D%/let_round.h \
  %D%/reach.c %D%/reach.h %D%/stages.c %D%/stages.h
EXTRA_DIST += %D%/README.md
