nobase_dist_pkgdata_DATA += %D%/plotting.py
nobase_dist_pkgdata_SCRIPTS += %D%/espalier-plot %D%/compare-schemes %D%/plot_comm.py %D%/plot_density.py %D%/plot_energy.py %D%/plot_force.py \
  %D%/plot_profile.py %D%/plot_steps.py %D%/plot_study.py %D%/plot_substeps.py
EXTRA_DIST += %D%/README.md
