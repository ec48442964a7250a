gpu_sources += \
  %D%/arrivals.cu \
  %D%/boxes.cu \
  %D%/choice.cuh \
  %D%/choose.cu \
  %D%/choose.h \
  %D%/forest.cu \
  %D%/let.cuh \
  %D%/lets.cu \
  %D%/pack.cu \
  %D%/update.cu \
  %D%/watch.cu \
  %D%/watch.cuh
