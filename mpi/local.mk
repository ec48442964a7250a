libespalier_a_SOURCES += %D%/comm.c %D%/comm.h
