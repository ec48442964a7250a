nobase_dist_pkgdata_DATA += \
  %D%/binary_formats.py \
  %D%/discs.py \
  %D%/follow.py \
  %D%/models.py \
  %D%/movie_group.py \
  %D%/plotting.py \
  %D%/processes.py \
  %D%/runs.py \
  %D%/scans.py \
  %D%/schemes.py \
  %D%/snapshots.py \
  %D%/unit_systems.py
nobase_dist_pkgdata_SCRIPTS += \
  %D%/espalier-convert \
  %D%/espalier-plot \
  %D%/calibrate-accuracy \
  %D%/compare-schemes \
  %D%/espalier-xdmf \
  %D%/plot_analysis.py \
  %D%/plot_binaries.py \
  %D%/plot_cluster.py \
  %D%/plot_comm.py \
  %D%/plot_density.py \
  %D%/plot_disc.py \
  %D%/plot_energy.py \
  %D%/plot_force.py \
  %D%/plot_map.py \
  %D%/plot_movie.py \
  %D%/plot_model.py \
  %D%/plot_modes.py \
  %D%/plot_profile.py \
  %D%/plot_rotation.py \
  %D%/plot_scaling.py \
  %D%/plot_steps.py \
  %D%/plot_study.py \
  %D%/plot_time.py \
  %D%/plot_substeps.py \
  %D%/zeldovich_sphere.py
EXTRA_DIST += %D%/README.md

# The scripts stay together; those that are called by name are in PATH. The links hold wherever the tree is moved to, as
# DESTDIR's is; only where bin and share have no folder in common they name the whole path.
scripts_in_path = espalier-convert espalier-plot espalier-xdmf compare-schemes calibrate-accuracy
install-exec-local:
	$(MKDIR_P) "$(DESTDIR)$(bindir)"
	@from="$(bindir)"; to="$(pkgdatadir)/tools"; up=; \
	while case "$$to" in "$$from"/*) false ;; esac; do from=$${from%/*}; up=../$$up; done; \
	if test -n "$$from"; then to=$$up$${to#"$$from"/}; fi; \
	for script in $(scripts_in_path); do \
	  echo ln -s -f "$$to/$$script" "$(DESTDIR)$(bindir)/$$script"; \
	  ln -s -f "$$to/$$script" "$(DESTDIR)$(bindir)/$$script" || exit 1; \
	done
uninstall-local:
	cd "$(DESTDIR)$(bindir)" && rm -f $(scripts_in_path)
