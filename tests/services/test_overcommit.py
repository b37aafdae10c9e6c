# SPDX-License-Identifier: Apache-2.0
"""Does Placement give away no more than there is, with the right setting?

``tests/long`` asks that of other settings and databases, too.
"""

from tests.services import overcommit
from tests.services import servers


class TestOneAttempt(overcommit.Safe, overcommit.Race):
    SERVER = servers.MARIADB
    SETTINGS = overcommit.ONE_ATTEMPT
