# SPDX-License-Identifier: Apache-2.0
"""Parts of the test suite, each of which is one run of stestr."""

import dataclasses
import os

PROCESSORS = len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class Part:
    """The tests of one directory, run with stestr.

    :ivar workers: number of processes
    :ivar tests: regular expression of the tests that run by default
    :ivar share: n, if one in n cases of a random sweep runs
    """

    name: str
    path: str
    workers: int = PROCESSORS
    tests: str = ''
    share: int = 10


# Tests of a cloud wait for its threads, so more workers than processors use
# these better. With twice as many, each test needs a third more CPU time.
WAITING = PROCESSORS + PROCESSORS // 2

PARTS = {
    part.name: part
    for part in (
        Part('unit', 'tests/unit'),
        Part('property', 'tests/property'),
        Part('functional', 'tests/functional', WAITING),
        Part('clients', 'tests/clients', WAITING),
        Part('services', 'tests/services', 2 * PROCESSORS),
        Part('sweeps', 'tests/property', share=1),
        Part('later', 'tests/later', WAITING, share=1),
        Part('heat', 'tests/heat', WAITING, share=1),
        Part('long', 'tests/long', WAITING, share=1),
    )
}

STANDARD = ('unit', 'property', 'functional', 'clients', 'services')
# Parts in which the tool looks for tests that are selected by name.
NAMED = (*STANDARD, 'later', 'heat', 'long')
