dist_doc_DATA += %D%/index.md %D%/parameters.md
