dist_doc_DATA += %D%/index.md %D%/file-formats.md %D%/parameters.md
