EXTRA_DIST += %D%/README.md
libespalier_a_SOURCES += \
  %D%/bound_pair.h \
  %D%/contacts.h \
  %D%/cosmology.c \
  %D%/cosmology.h \
  %D%/few_bodies.h \
  %D%/field.h \
  %D%/hermite.h \
  %D%/hierarchy.h \
  %D%/hierarchy_rules.h \
  %D%/kepler.h \
  %D%/ks.h \
  %D%/pair.h \
  %D%/pair_steps.h \
  %D%/quadrupole.h \
  %D%/reach.h \
  %D%/resolved_pair.h \
  %D%/split.h \
  %D%/triple.h \
  %D%/unit_advance.h \
  %D%/unit_contacts.h \
  %D%/unit_end.h \
  %D%/unit_environment.h \
  %D%/unit.h \
  %D%/unit_field.h \
  %D%/unit_hierarchies.h \
  %D%/unit_motion.h \
  %D%/unit_parts.h \
  %D%/unit_rules.h \
  %D%/units.c \
  %D%/units.h
