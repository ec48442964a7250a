libespalier_a_SOURCES += %D%/initial.h %D%/snapshot.h
