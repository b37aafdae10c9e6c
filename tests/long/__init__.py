# SPDX-License-Identifier: Apache-2.0
"""Tests that take long: storms, whole lives, fuzzers.

``tox -e long`` runs all of them, and ``VRT_SHARE=10`` one in ten.
"""

import pathlib
import unittest

from testtools import testsuite

from tests import shares


def load_tests(loader, _tests, pattern):
    """Load the tests that are drawn."""
    folder = pathlib.Path(__file__).parent
    found = {
        test.id(): test
        for each in sorted(folder.iterdir())
        # A folder of tests, and not what Python has compiled.
        if (each / '__init__.py').exists()
        for test in testsuite.iterate_tests(
            loader.discover(str(each), pattern)
        )
    }
    drawn = shares.drawn(found)
    return loader.suiteClass(
        test
        for name, test in found.items()
        # A module that cannot be imported is no test that may be left out.
        if name in drawn or isinstance(test, unittest.loader._FailedTest)
    )
