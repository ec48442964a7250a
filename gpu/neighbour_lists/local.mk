gpu_sources += \
  %D%/advance.cu \
  %D%/neighbour_lists.cuh \
  %D%/halo.cu \
  %D%/lists.cu \
  %D%/loop.cu \
  %D%/loop.cuh \
  %D%/pairs.cu \
  %D%/pairs.cuh \
  %D%/state.cuh
