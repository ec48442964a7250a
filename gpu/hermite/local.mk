gpu_sources += \
  %D%/advance.cu \
  %D%/hermite.cuh \
  %D%/halo.cu \
  %D%/lists.cu \
  %D%/loop.cu \
  %D%/loop.cuh \
  %D%/pairs.cu \
  %D%/pairs.cuh \
  %D%/state.cuh
