# SPDX-License-Identifier: Apache-2.0
"""Definitions of stored groups."""

from oslotest import base

from nova_groupext import exception
from nova_groupext.scheduler.current import definition
from tests import groups


class TestPolicyTypes(base.BaseTestCase):
    def test_group_with_an_unknown_type_is_a_clear_error(self):
        policy = {'type': 'leader', 'scope': 'host'}
        group = groups.equal_members(2, policies=[groups.policy('', policy)])

        for function in definition.read, definition.check_policy_types:
            self.assertRaisesRegex(
                exception.UnknownPolicyType, 'leader', function, group
            )

    def test_group_is_exclusive_by_the_type_of_a_policy(self):
        for kind, is_exclusive in (('exclusive', True), ('affinity', False)):
            policy = groups.policy('', {'type': kind, 'scope': 'host'})
            group = groups.equal_members(2, policies=[policy])

            self.assertEqual(is_exclusive, group.is_exclusive)


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
