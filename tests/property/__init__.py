# SPDX-License-Identifier: Apache-2.0
"""Property tests: right decisions for random problems."""

from tests import time_slices

time_slices.lengthen_all()
