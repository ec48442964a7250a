nobase_dist_pkgdata_DATA += %D%/README.md
nobase_dist_pkgdata_SCRIPTS += %D%/slurm.sh
