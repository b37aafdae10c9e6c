# SPDX-License-Identifier: Apache-2.0
"""Topologies of groups: as described, and as they are present."""

from oslotest import base

from nova_groupext.objects import topology
from tests import groups


class TestTopology(base.BaseTestCase):
    """A master, and two of three workers in a subgroup."""

    def setUp(self):
        super().setUp()
        self.group = groups.unstored(
            subgroups=['sub'],
            **groups.members_of(
                groups.member_set('master', flavor='m1'),
                groups.member_set('sub/w', count=3, min_count=1, max_count=5),
            ),
            policies=[],
            relationships=[],
        )
        self.group.members.pop(2)

    def present(self):
        describe = topology.present_counts(self.group)
        return topology.compose(self.group, describe)

    def leave_out(self, number):
        """Leave a member set and its subgroup out of the definition."""
        self.group.subgroups = []
        self.group.member_sets[number].is_left_out = True

    def test_members_that_there_are_are_named(self):
        workers = {
            'count': 3,
            'min_count': 1,
            'max_count': 5,
            'names': ['w-0', 'w-2'],
        }

        self.assertEqual(
            {
                'members': {'master': {'min_count': 1, 'names': ['master']}},
                'groups': {'sub': {'members': {'w': workers}}},
            },
            self.present(),
        )

    def test_successors_are_required_besides_the_members(self):
        successor = groups.member('master+0', self.group.member_sets[0])
        successor.succeeds = 'master'
        self.group.members.append(successor)

        self.assertEqual(
            {'min_count': 2, 'names': ['master', 'master+0']},
            self.present()['members']['master'],
        )

    def test_servers_that_leave_are_in_their_former_subgroup(self):
        self.leave_out(1)

        present = self.present()['groups']['sub']['members']['w']
        self.assertEqual(
            (0, ['w-0', 'w-2']), (present['min_count'], present['names'])
        )

    def test_what_is_left_out_is_not_described(self):
        self.leave_out(1)

        self.assertEqual(
            {'members': {'master': {'flavor': 'm1'}}},
            topology.compose(self.group, lambda s: s.shown_description),
        )
