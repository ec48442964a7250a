# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx's settings for the documentation as a site: `make html`. The pages are the Markdown files of the source tree,
as they are."""
import re
from pathlib import Path

top = Path(__file__).resolve().parents[2]
project = "Espalier"
author = "the Espalier maintainers"
copyright = "the Espalier maintainers"
release = re.search(r"AC_INIT\(\[espalier\],\[([^]]+)\]", (top / "configure.ac").read_text()).group(1)

root_doc = "doc/site/index"
include_patterns = ["README.md", "CONTRIBUTING.md", "doc/*.md", "doc/site/*.md", "doc/tutorials/*.md",
                    "tools/README.md", "gpu/README.md", "jobscripts/README.md", "packaging/README.md",
                    "packaging/amuse/README.md", "python/README.md"]
extensions = ["myst_parser"]
myst_heading_anchors = 5
myst_enable_extensions = ["colon_fence", "dollarmath"]
suppress_warnings = ["myst.header"]
highlight_language = "none"   # most fenced code is for the shell, with output beside it

html_theme = "furo"
html_title = f"Espalier {release}"
html_static_path = ["static"]
html_css_files = ["landing.css"]   # the tiles of the front page
html_show_sphinx = False
html_copy_source = False
