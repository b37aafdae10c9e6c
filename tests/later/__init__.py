# SPDX-License-Identifier: Apache-2.0
"""Tests of what happens to a group later.

It is revised, its servers are created by ``boot`` or ``deploy``, move, are
resized, shelved, adopted or leave, and its hosts change. ``tox -e later``
runs all tests, ``VRT_SHARE=3`` one in three.
"""

from tests import shares
from tests.functional.cloud import shared


def load_tests(loader, _tests, pattern):
    """Load the tests that are drawn, so that few clouds are started."""
    return shared.load(loader, __file__, pattern, shares.sampled)
