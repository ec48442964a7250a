dist_doc_DATA += %D%/architecture.md %D%/communication.md %D%/file-formats.md %D%/gpu-hard.md %D%/gpu-lets.md %D%/gpu-walk.md %D%/index.md %D%/measurements.md %D%/numerics.md %D%/parameters.md
EXTRA_DIST += %D%/images/comm.png %D%/images/merger.png %D%/images/study.png %D%/images/work.png
