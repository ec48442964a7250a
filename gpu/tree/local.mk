gpu_sources += \
  %D%/build.cu \
  %D%/check.cu \
  %D%/groups.cu \
  %D%/links.cu \
  %D%/moments.cu \
  %D%/order.cu \
  %D%/order.cuh \
  %D%/permute.cu \
  %D%/resort.cu \
  %D%/sources.cuh \
  %D%/state.cu \
  %D%/state.cuh \
  %D%/tree.cuh \
  %D%/treeless.cu
