# SPDX-License-Identifier: Apache-2.0
"""Unit tests of the planner."""

from tests import time_slices

time_slices.lengthen_all()
