nobase_dist_pkgdata_DATA += \
  %D%/andromeda.ini \
  %D%/binaries.ini \
  %D%/cluster.ini \
  %D%/default.ini \
  %D%/encounters.ini \
  %D%/galaxies.ini \
  %D%/machines/cpu-node.ini \
  %D%/machines/fdps-gpu2x.ini \
  %D%/machines/fdps-gpu4x.ini \
  %D%/machines/fdps-link0.5x.ini \
  %D%/machines/fdps-link4x.ini \
  %D%/machines/fdps-reference.ini \
  %D%/machines/fugaku.ini \
  %D%/machines/h100-node.ini \
  %D%/machines/h200-node.ini \
  %D%/machines/ha-pacs.ini \
  %D%/machines/infiniband-ndr.ini \
  %D%/machines/slingshot.ini \
  %D%/merger.ini \
  %D%/models/dwarf.ini \
  %D%/models/globular.ini \
  %D%/models/m31.ini \
  %D%/models/merger.ini \
  %D%/models/milky-way.ini \
  %D%/nucleus.ini \
  %D%/watanabe.ini

# What the table of parameters says in files that are kept; a test compares.
.PHONY: parameter-pages
parameter-pages: espalier$(EXEEXT)
	./espalier params --ini > $(srcdir)/params/default.ini
	./espalier params --markdown > $(srcdir)/doc/parameters.md
	./espalier info --manual > $(srcdir)/doc/espalier.1
	./espalier plan --bytes > $(srcdir)/doc/data/plan-bytes.csv
	python3 $(srcdir)/doc/data/tables.py
distclean-local:
	-test ! -L params/machines || rm -f params/machines
