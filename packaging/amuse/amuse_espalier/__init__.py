# SPDX-License-Identifier: GPL-3.0-or-later
from .interface import Espalier, EspalierInterface  # noqa: F401
