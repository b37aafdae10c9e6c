# SPDX-License-Identifier: Apache-2.0
"""The parts that the tests are run in."""

import dataclasses
import os

PROCESSORS = len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class Part:
    """The tests of one folder, run with stestr.

    ``workers`` is the number of processes that run them. ``tests`` is a
    regular expression of the tests to run where nobody asks for others.
    ``share`` is n where one in n cases of a random sweep is run.
    """

    name: str
    path: str
    workers: int = PROCESSORS
    tests: str = ''
    share: int = 10


# Tests of a cloud wait for its threads: more workers use the processors. With
# twice as many, each test takes a third more of the processors' time.
WAITING = PROCESSORS + PROCESSORS // 2

PARTS = {
    part.name: part
    for part in (
        Part('unit', 'tests/unit'),
        Part('property', 'tests/property'),
        Part('functional', 'tests/functional', WAITING),
        Part('clients', 'tests/clients', WAITING),
        # Some of each kind; `tox -e nova-server-groups` runs all of them.
        Part(
            'server-groups',
            'tests/server_groups',
            tests='OurScheduler|LiveMigration|MultiCell'
            '|V295.*(no_valid_host|rules)',
        ),
        Part('services', 'tests/services', 2 * PROCESSORS),
        Part('sweeps', 'tests/property', share=1),
        Part('long', 'tests/long', WAITING, share=1),
    )
}

STANDARD = (
    *('unit', 'property', 'functional'),
    *('clients', 'server-groups', 'services'),
)
