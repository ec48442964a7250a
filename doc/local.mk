nobase_dist_doc_DATA += \
  %D%/accuracy.md \
  %D%/amuse.md \
  %D%/analysis.md \
  %D%/architecture.md \
  %D%/building.md \
  %D%/communication.md \
  %D%/comparison.md \
  %D%/cosmology.md \
  %D%/external-potentials.md \
  %D%/file-formats.md \
  %D%/galaxy-models.md \
  %D%/gallery.md \
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
  %D%/scaling.md \
  %D%/star-clusters.md \
  %D%/start-from.md \
  %D%/test-particles.md \
  %D%/troubleshooting.md \
  %D%/units.md \
  %D%/tutorials/first-run.md \
  %D%/tutorials/galaxies.md \
  %D%/tutorials/python.md \
  %D%/tutorials/scaling.md \
  %D%/tutorials/star-cluster.md \
  %D%/tutorials/stellar-evolution.md \
  %D%/images/accuracy.png \
  %D%/images/binaries.png \
  %D%/images/comm.png \
  %D%/images/core-collapse.png \
  %D%/images/evolution.png \
  %D%/images/gallery-collision.png \
  %D%/images/gallery-core-collapse.png \
  %D%/images/gallery-matrix.png \
  %D%/images/merger.png \
  %D%/images/showcase.png \
  %D%/images/speed.svg \
  %D%/images/neighbours.png \
  %D%/images/work.png
# The pages above link to these pages of other folders.
nobase_dist_doc_DATA += \
  gpu/README.md \
  jobscripts/README.md \
  packaging/README.md \
  packaging/amuse/README.md \
  tools/README.md
dist_man_MANS = \
  %D%/espalier.1 \
  %D%/espalier-job.1
# The pages as a site, in html/ of the build folder. Warnings, dead links among them, are errors.
SPHINX_BUILD = sphinx-build
html-local:
	@$(SPHINX_BUILD) --version > /dev/null 2>&1 || { \
	  echo "make html needs Sphinx with two extensions:" \
	    "python3 -m venv sphinx && sphinx/bin/pip install sphinx myst-parser furo," >&2; \
	  echo "then make html SPHINX_BUILD=sphinx/bin/sphinx-build" >&2; exit 1; }
	$(SPHINX_BUILD) -q -W --keep-going -b html -c $(srcdir)/%D%/site -d doctrees $(srcdir) html
	@echo "the site: html/%D%/site/index.html"
EXTRA_DIST += %D%/site/conf.py %D%/site/index.md %D%/site/static/landing.css
# Tables of the pages, and what writes them; a test compares.
EXTRA_DIST += %D%/data/tables.py \
  %D%/data/accuracy-names.csv \
  %D%/data/accuracy-picture.csv \
  %D%/data/aligned.csv \
  %D%/data/amounts-r1.csv \
  %D%/data/amounts.csv \
  %D%/data/amuse-tests.csv \
  %D%/data/amuse.csv \
  %D%/data/balance.csv \
  %D%/data/block-gpu.csv \
  %D%/data/block-n.csv \
  %D%/data/centre.csv \
  %D%/data/choice-cpu.csv \
  %D%/data/choice-gpu.csv \
  %D%/data/choice-model.csv \
  %D%/data/choosing.csv \
  %D%/data/clusters-cpu.csv \
  %D%/data/clusters-energyerror.csv \
  %D%/data/clusters-gpu.csv \
  %D%/data/clusters.csv \
  %D%/data/cold-collapse.csv \
  %D%/data/comoving.csv \
  %D%/data/cuts-balance.csv \
  %D%/data/cuts.csv \
  %D%/data/direct-or-tree.csv \
  %D%/data/direct-rates.csv \
  %D%/data/energy-galaxies.csv \
  %D%/data/energy-ranks.csv \
  %D%/data/far-cost.csv \
  %D%/data/fast-trees.csv \
  %D%/data/forces-cpu.csv \
  %D%/data/forces-errors.csv \
  %D%/data/forces-gpu.csv \
  %D%/data/galaxies-gpus.csv \
  %D%/data/galaxy-disc.csv \
  %D%/data/galaxy-dispersions.csv \
  %D%/data/galaxy-programs.csv \
  %D%/data/galaxy-rest.csv \
  %D%/data/galaxy-shells.csv \
  %D%/data/galaxy-time.csv \
  %D%/data/galaxy-velocity.csv \
  %D%/data/galaxy-virial.csv \
  %D%/data/halo.csv \
  %D%/data/hard-cost.csv \
  %D%/data/hard-lets.csv \
  %D%/data/hybrid-gpu.csv \
  %D%/data/hybrid-several.csv \
  %D%/data/interrupted.csv \
  %D%/data/memory-check.csv \
  %D%/data/memory.csv \
  %D%/data/merger.csv \
  %D%/data/one-walk.csv \
  %D%/data/orbits.csv \
  %D%/data/pair-loops.csv \
  %D%/data/pairs.csv \
  %D%/data/potentials.csv \
  %D%/data/runs.csv \
  %D%/data/scaling-cpu.csv \
  %D%/data/scaling-gpu.csv \
  %D%/data/scaling-messages.csv \
  %D%/data/scaling-schemes.csv \
  %D%/data/scaling-strong.csv \
  %D%/data/scaling-weak.csv \
  %D%/data/schemes-errors.csv \
  %D%/data/schemes-gpu.csv \
  %D%/data/several-gpus.csv \
  %D%/data/simgrid.csv \
  %D%/data/soft-contacts.csv \
  %D%/data/split-fastest-1e-3.csv \
  %D%/data/split-fastest.csv \
  %D%/data/stages.csv \
  %D%/data/statistics.csv \
  %D%/data/study-gpu-bytes.csv \
  %D%/data/tests-time.csv \
  %D%/data/tides.csv \
  %D%/data/transports.csv \
  %D%/data/work.csv
# The pictures of doc/gallery.md, in gallery/ of the build folder; its scripts are called from the source tree.
gallery: espalier$(EXEEXT) tests/true_energy$(EXEEXT)
	rm -rf gallery && mkdir gallery
	cd gallery && for s in $(gallery_names); do \
	  PATH=$(abs_builddir):$(abs_builddir)/tests:$(abs_srcdir)/tools:$$PATH \
	    sh $(abs_srcdir)/%D%/gallery/$$s.sh || exit 1; done
gallery_names = collision core-collapse matrix showcase
EXTRA_DIST += \
  %D%/gallery/collision.sh \
  %D%/gallery/core-collapse.sh \
  %D%/gallery/andromedas.sh \
  %D%/gallery/matrix.py \
  %D%/gallery/matrix.sh \
  %D%/gallery/showcase.py \
  %D%/gallery/showcase.sh \
  %D%/gallery/speed.py
clean-local-gallery:
	-rm -rf gallery
clean-local-site:
	-rm -rf html doctrees
clean-local: clean-local-site clean-local-gallery
.PHONY: clean-local-site clean-local-gallery gallery
