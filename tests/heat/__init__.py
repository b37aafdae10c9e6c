# SPDX-License-Identifier: Apache-2.0
"""Stacks of a real Heat whose servers are members of a group.

``tox -e heat`` runs all tests, ``VRT_SHARE=2`` one in two.
"""

from tests import shares
from tests.functional.cloud import shared


def load_tests(loader, _tests, pattern):
    """Load the tests that are drawn, so that few Heats are started."""
    return shared.load(loader, __file__, pattern, shares.sampled)
