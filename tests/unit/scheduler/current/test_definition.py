# SPDX-License-Identifier: Apache-2.0
"""Definitions of stored groups."""

from oslotest import base

from nova_groupext.scheduler.current import definition
from tests import groups


class TestRead(base.BaseTestCase):
    def test_policies_cover_the_stored_members(self):
        policy = {'type': 'exclusive', 'scope': 'host'}
        for size in (1, 3):
            group = groups.equal_members(
                size, policies=[groups.policy('', policy)]
            )

            [found] = definition.read(group).policies

            self.assertEqual(
                {member.path for member in group.members}, {*found.sides[0]}
            )
