gpu_sources += \
  %D%/forces.cu \
  %D%/integrate.cu \
  %D%/state.cuh
