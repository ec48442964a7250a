gpu_sources += \
  %D%/blocks.cuh \
  %D%/cells.cuh \
  %D%/few_walk.cu \
  %D%/group_walk.cu \
  %D%/items.cu \
  %D%/lists.cuh \
  %D%/pairs.cuh \
  %D%/results.cuh \
  %D%/state.cuh \
  %D%/supergroup.cu \
  %D%/taylor.cuh \
  %D%/traverse.cuh \
  %D%/walk.cu \
  %D%/walk.cuh \
  %D%/warp_team.cuh
