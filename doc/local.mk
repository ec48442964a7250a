nobase_dist_doc_DATA += \
  %D%/accuracy.md \
  %D%/analysis.md \
  %D%/architecture.md \
  %D%/building.md \
  %D%/communication.md \
  %D%/cosmology.md \
  %D%/external-potentials.md \
  %D%/file-formats.md \
  %D%/galaxy-models.md \
  %D%/glossary.md \
  %D%/gpu-hard.md \
  %D%/gpu-lets.md \
  %D%/gpu-substeps.md \
  %D%/gpu-walk.md \
  %D%/groups.md \
  %D%/index.md \
  %D%/job-scripts.md \
  %D%/library.md \
  %D%/measurements.md \
  %D%/numerics.md \
  %D%/parameters.md \
  %D%/performance.md \
  %D%/python.md \
  %D%/readers.md \
  %D%/restarting.md \
  %D%/running.md \
  %D%/star-clusters.md \
  %D%/test-particles.md \
  %D%/troubleshooting.md \
  %D%/units.md \
  %D%/images/comm.png \
  %D%/images/core-collapse.png \
  %D%/images/merger.png \
  %D%/images/study.png \
  %D%/images/work.png
# The pages above link to these pages of other folders.
nobase_dist_doc_DATA += \
  gpu/README.md \
  jobscripts/README.md \
  packaging/README.md \
  tools/README.md
dist_man_MANS = \
  %D%/espalier.1 \
  %D%/espalier-job.1
