gpu_sources += \
  %D%/depth_first.cu \
  %D%/depth_first.cuh \
  %D%/direct.cu \
  %D%/pairwise.cu \
  %D%/pairwise.cuh
