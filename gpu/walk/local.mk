gpu_sources += \
  %D%/blocks.cuh \
  %D%/cells.cuh \
  %D%/few_walk.cu \
  %D%/group_walk.cu \
  %D%/group_walk.cuh \
  %D%/group_walk_unlike.cu \
  %D%/items.cu \
  %D%/lists.cuh \
  %D%/pairs.cuh \
  %D%/results.cuh \
  %D%/state.cuh \
  %D%/supergroup.cu \
  %D%/supergroup.cuh \
  %D%/supergroup_unlike.cu \
  %D%/taylor.cuh \
  %D%/traverse.cuh \
  %D%/walk.cu \
  %D%/walk.cuh \
  %D%/warp_team.cuh
