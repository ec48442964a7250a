EXTRA_DIST += %D%/parameters.md
