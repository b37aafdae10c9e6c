# SPDX-License-Identifier: Apache-2.0
"""A share of Nova's functional tests with ours, as tests of this folder."""

import unittest

from tests import shares
from tests.nova_functional import selection
from tests.nova_functional import sides

sides.install(sides.installed() or sides.OURS)

# One of these takes as long as several of the other parts' tests, so that a
# share of the parts is a smaller one here.
RARER = 3


def load_tests(loader, tests, pattern):
    """Load the drawn tests: the protocol of unittest."""
    share = shares.SHARE * RARER if shares.SHARE > 1 else 1
    return unittest.TestSuite(
        selection.draw(selection.load_reliable(), share, shares.DRAW)
    )
