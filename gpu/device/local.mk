gpu_sources += \
  %D%/backend_cuda.c \
  %D%/device.cu \
  %D%/device.cuh \
  %D%/memory.cu \
  %D%/memory.cuh \
  %D%/ranges.cu \
  %D%/reduce.cuh \
  %D%/runtime.cuh \
  %D%/scan.cuh \
  %D%/search.cuh \
  %D%/select.cuh \
  %D%/sets.cu \
  %D%/sort.cuh \
  %D%/stall.cu \
  %D%/verbs.h
