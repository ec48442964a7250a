nobase_dist_pkgdata_DATA += \
  %D%/andromeda.ini \
  %D%/cluster.ini \
  %D%/default.ini \
  %D%/galaxies.ini \
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
