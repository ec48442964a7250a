gpu_sources += \
  %D%/hard.cu \
  %D%/hard.cuh \
  %D%/hard_forces.cu \
  %D%/hard_unlike.cu \
  %D%/hard_walk.cuh \
  %D%/neighbours.cu \
  %D%/neighbours.cuh \
  %D%/neighbours_make.cu \
  %D%/neighbours_use.cu \
  %D%/state.cuh \
  %D%/trajectory.cuh
