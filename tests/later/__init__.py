# SPDX-License-Identifier: Apache-2.0
"""Does a group stay right when what there is already changes?

Its servers move, are resized, shelved, adopted or let go, and hosts that it
has to itself change. ``tox -e later`` runs all of it, ``VRT_SHARE=3`` one
test in three.
"""

from tests import shares
from tests.functional.cloud import shared


def load_tests(loader, _tests, pattern):
    """Load the tests that are drawn, so that few clouds are started."""
    return shared.load(loader, __file__, pattern, shares.drawn)
