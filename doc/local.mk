dist_doc_DATA += %D%/index.md
