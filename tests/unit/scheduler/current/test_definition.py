# SPDX-License-Identifier: Apache-2.0
"""Is a group read as it is stored?"""

from oslotest import base

from nova_groupext.scheduler.current import definition
from tests import groups


class TestRead(base.BaseTestCase):
    def test_policies_are_about_the_members_that_are_stored(self):
        policy = {'type': 'exclusive', 'scope': 'host'}
        for size in (1, 3):
            group = groups.alike(size, policies=[groups.policy('', policy)])

            [found] = definition.read(group).policies

            self.assertEqual(
                {member.path for member in group.members}, {*found.sides[0]}
            )
