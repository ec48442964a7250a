gpu_sources += \
  %D%/energy.cu \
  %D%/forces.cu \
  %D%/integrate.cu \
  %D%/state.cuh
