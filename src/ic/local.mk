libespalier_a_SOURCES += %D%/ic.h
