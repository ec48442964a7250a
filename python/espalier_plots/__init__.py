# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of simulations, from arrays: espalier-plot (tools/) and the methods of pyespalier draw by this package.

It needs numpy and matplotlib, and neither the C library nor h5py. It is beside tools/ in the source tree and where
Espalier is installed,
and in the wheel of pyespalier."""
