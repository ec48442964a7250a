EXTRA_DIST += \
  %D%/README.md \
  %D%/amuse/Makefile \
  %D%/amuse/amuse_espalier/__init__.py \
  %D%/amuse/amuse_espalier/interface.py \
  %D%/amuse/calls.h \
  %D%/amuse/evolve.c \
  %D%/amuse/interface.c \
  %D%/amuse/model.c \
  %D%/amuse/model.h \
  %D%/amuse/stops.c \
  %D%/amuse/stops.h \
  %D%/amuse/store.c \
  %D%/amuse/store.h \
  %D%/amuse/examples/galaxy.py \
  %D%/amuse/examples/masses.py \
  %D%/amuse/examples/mergers.py \
  %D%/amuse/test_espalier.py \
  %D%/amuse/touches.c \
  %D%/amuse/touches.h \
  %D%/spack/repo.yaml \
  %D%/spack/packages/espalier/package.py \
  %D%/apptainer/espalier.def \
  %D%/container/Containerfile \
  %D%/release.sh \
  debian/changelog \
  debian/control \
  debian/copyright \
  debian/espalier.install \
  debian/libespalier-dev.install \
  debian/libespalier0.install \
  debian/python3-espalier.install \
  debian/rules \
  debian/source/format \
  debian/tests/control \
  debian/tests/first-run
# Tarballs, wheel, Debian packages and their checksums, in release/ of the build folder.
release: library dist
	$(SHELL) $(srcdir)/%D%/release.sh $(abs_builddir)/$(distdir).tar.gz $(abs_builddir)/lib/libespalier.so \
	  $(abs_builddir)/release
	rm -f $(distdir).tar.gz $(distdir).tar.xz
clean-local-release:
	-rm -rf release
clean-local: clean-local-release
.PHONY: release clean-local-release
