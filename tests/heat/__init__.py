# SPDX-License-Identifier: Apache-2.0
"""Stacks of a real Heat whose servers are members of a group."""

from tests.functional.cloud import shared


def load_tests(loader, _tests, pattern):
    return shared.load(loader, __file__, pattern)
