libespalier_a_SOURCES += %D%/comm.c %D%/comm.h %D%/cuts.c %D%/domain.c %D%/domain.h %D%/ledger.c %D%/ledger.h %D%/let.c %D%/let.h %D%/parcel.c %D%/parcel.h %D%/transport.c %D%/transport.h
