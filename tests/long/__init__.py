# SPDX-License-Identifier: Apache-2.0
"""Tests that take long: stress tests, random operations, fuzzing.

``tox -e long`` runs all of them, and ``VRT_SHARE=10`` one in ten.
"""

import itertools
import pathlib

from testtools import testsuite

from tests import shares


def load_tests(loader, _tests, pattern):
    """Load the tests that are drawn."""
    folder = pathlib.Path(__file__).parent
    all_tests = itertools.chain.from_iterable(
        testsuite.iterate_tests(loader.discover(str(each), pattern))
        for each in sorted(folder.iterdir())
        # A folder of tests, and not what Python has compiled.
        if (each / '__init__.py').exists()
    )
    return loader.suiteClass(shares.sampled(all_tests))
