# The library: objects of this room and what they need of the others, with espalier_* as the only global symbols.
noinst_LIBRARIES += libapi.a
libapi_a_SOURCES = \
  %D%/api.h \
  %D%/changes.c \
  %D%/entries.c \
  %D%/espalier.h \
  %D%/judge.c \
  %D%/field_at.c \
  %D%/models.c \
  %D%/open.c \
  %D%/particles.c \
  %D%/steps.c
include_HEADERS = %D%/espalier.h
EXTRA_DIST += %D%/README.md %D%/espalier.map

# The number of the interface: a change that breaks programs increases it.
LIBRARY_ABI = 0
LIBRARY_SONAME = libespalier.so.$(LIBRARY_ABI)
LIBRARY_SHARED = lib/libespalier.so.$(PACKAGE_VERSION)
LIBRARY_STATIC = lib/libespalier.a
LIBRARY_PARTS = -Wl,--whole-archive libapi.a -Wl,--no-whole-archive -Wl,--start-group libespalier.a $(KERNEL_LIBS) \
  -Wl,--end-group
LIBRARY_INPUTS = libapi.a libespalier.a $(KERNEL_LIBS)
$(LIBRARY_SHARED): $(LIBRARY_INPUTS) %D%/espalier.map
	$(AM_V_CCLD)$(MKDIR_P) lib && $(CC) -shared $(AM_CFLAGS) $(CFLAGS) -Wl,-soname,$(LIBRARY_SONAME) \
	  -Wl,--version-script=$(top_srcdir)/src/api/espalier.map $(AM_LDFLAGS) $(LDFLAGS) -o $@ $(LIBRARY_PARTS) \
	  $(HDF5_LIBS) $(GPU_LIBS) $(ESP_LIBS) -lm $(LIBS)
	$(AM_V_at)ln -sf libespalier.so.$(PACKAGE_VERSION) lib/$(LIBRARY_SONAME) && ln -sf $(LIBRARY_SONAME) lib/libespalier.so
$(LIBRARY_STATIC): $(LIBRARY_INPUTS)
	$(AM_V_AR)$(MKDIR_P) lib && $(LD) -r -o lib/espalier.o $(subst -Wl$(comma),,$(LIBRARY_PARTS)) && \
	  $(OBJCOPY) --wildcard --keep-global-symbol='espalier_*' lib/espalier.o && \
	  rm -f $@ && $(AR) cr $@ lib/espalier.o && rm -f lib/espalier.o
comma = ,
library: $(LIBRARY_SHARED)
.PHONY: library

libraryabledir = $(libdir)
libraryable_DATA = $(LIBRARY_SHARED) $(LIBRARY_STATIC)
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = espalier.pc
CLEANFILES += $(LIBRARY_SHARED) $(LIBRARY_STATIC) lib/$(LIBRARY_SONAME) lib/libespalier.so lib/espalier.o
install-data-hook:
	cd "$(DESTDIR)$(libdir)" && ln -sf libespalier.so.$(PACKAGE_VERSION) $(LIBRARY_SONAME) && \
	  ln -sf $(LIBRARY_SONAME) libespalier.so
uninstall-hook:
	rm -f "$(DESTDIR)$(libdir)/$(LIBRARY_SONAME)" "$(DESTDIR)$(libdir)/libespalier.so"
