gpu_sources += \
  %D%/exchange.cu \
  %D%/nccl.cu \
  %D%/state.cuh
