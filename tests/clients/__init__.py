# SPDX-License-Identifier: Apache-2.0
"""Tests of the clients against a real cloud."""

from tests.functional.cloud import shared


def load_tests(loader, _tests, pattern):
    """Load the tests so that few clouds are started."""
    return shared.load(loader, __file__, pattern)
