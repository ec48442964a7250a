nobase_dist_pkgdata_DATA += %D%/README.md
nobase_dist_pkgdata_SCRIPTS += \
  %D%/slurm.sh \
  %D%/slurm-cpu.sh \
  %D%/pbs-miyabi.sh \
  %D%/pbs-pegasus.sh \
  %D%/pjm-wisteria.sh \
  %D%/pjm-fugaku.sh \
  %D%/scaling \
  %D%/scaling_report.py \
  %D%/campaign/slurm.sh \
  %D%/campaign/pbs.sh \
  %D%/campaign/pjm.sh \
  %D%/campaign/local.sh \
  %D%/campaign/point.sh
dist_bin_SCRIPTS += %D%/espalier-job
