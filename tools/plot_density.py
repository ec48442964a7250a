#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""espalier-plot density is espalier-plot map by the name of what it draws first."""
from plot_map import main, start

if __name__ == "__main__":
    start(main)
