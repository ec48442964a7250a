gpu_sources += \
  %D%/advance.cu \
  %D%/neighbour_lists.cuh \
  %D%/halo.cu \
  %D%/lists.cu \
  %D%/loop.cu \
  %D%/loop.cuh \
  %D%/loop_parts.cuh \
  %D%/pairs.cu \
  %D%/pairs.cuh \
  %D%/state.cuh \
  %D%/unit_changes.cuh \
  %D%/unit_checks.cuh \
  %D%/unit_collisions.cu \
  %D%/unit_forces.cuh \
  %D%/unit_host.cuh \
  %D%/unit_loop.cu \
  %D%/unit_mail.c \
  %D%/unit_mail.h \
  %D%/unit_pairs.cu \
  %D%/unit_pairs.cuh \
  %D%/unit_places.cuh \
  %D%/unit_steps.cuh \
  %D%/units.cu \
  %D%/units.cuh
