# SPDX-License-Identifier: Apache-2.0
"""Relaxations of refusals, applied to a topology."""

import copy
import types

from openstack import exceptions
from oslotest import base

from nova_groupext_client import relaxed_topology
from nova_groupext_client.sdk import _relaxing

RACKS = {'type': 'spread', 'scope': 'rack'}
HOSTS = {'type': 'anti-affinity', 'scope': 'host', 'strict': True}
NEAR = {'type': 'network-proximity', 'scope': 'rack'}
TOPOLOGY = {
    'members': {'a': {'flavor': 'f', 'count': 3, 'policies': [HOSTS]}},
    'policies': [RACKS],
    'groups': {
        'data': {
            'members': {'db': {'flavor': 'f', 'count': 5, 'min_count': 4}},
            'policies': [RACKS, HOSTS],
            'relationships': [
                {'name': 'tie', 'between': ['db', 'x'], 'policies': [NEAR]},
                {'between': ['db', 'y'], 'policies': [NEAR]},
            ],
        }
    },
}


def rule(at, policy):
    return {
        'at': at,
        'policy': policy['type'],
        'scope': policy['scope'],
        'strict': False,
    }


class TestRelaxed(base.BaseTestCase):
    def check(self, change, **wanted):
        """Apply a change, and expect these values by path, and no others."""
        before = copy.deepcopy(TOPOLOGY)
        found = relaxed_topology.apply(TOPOLOGY, change)
        self.assertEqual(before, TOPOLOGY)
        for path, value in wanted.items():
            *parents, last = path.split('__')
            node = before
            for name in parents:
                node = node[int(name) if name.isdigit() else name]
            node[last] = value
        self.assertEqual(before, found)

    def test_policy_of_a_group_becomes_soft(self):
        self.check(rule('', RACKS), policies__0__strict=False)
        self.check(
            rule('data', HOSTS), groups__data__policies__1__strict=False
        )

    def test_policy_of_a_member_becomes_soft(self):
        self.check(rule('a', HOSTS), members__a__policies__0__strict=False)

    def test_policy_of_a_relationship_becomes_soft(self):
        self.check(
            rule('data/tie', NEAR),
            groups__data__relationships__0__policies__0__strict=False,
        )

    def test_policy_of_an_unnamed_relationship_becomes_soft(self):
        self.check(
            rule('data/relationships[1]', NEAR),
            groups__data__relationships__1__policies__0__strict=False,
        )

    def test_min_count_is_lowered(self):
        self.check(
            {'at': 'data', 'members': 'db', 'min_count': 2},
            groups__data__members__db__min_count=2,
        )
        self.check(
            {'min_counts': {'a': 1, 'data/db': 0}},
            groups__data__members__db__min_count=0,
            members__a__min_count=1,
        )

    def test_combined_changes_are_all_applied(self):
        self.check(
            {
                'together': [
                    rule('data', RACKS),
                    {'at': '', 'members': 'a', 'min_count': 2},
                ]
            },
            groups__data__policies__0__strict=False,
            members__a__min_count=2,
        )

    def test_change_of_an_unknown_part_is_an_error(self):
        for change in (
            rule('data', NEAR),
            rule('nowhere', RACKS),
            {'at': 'data', 'members': 'web', 'min_count': 1},
        ):
            self.assertRaises(
                LookupError, relaxed_topology.apply, TOPOLOGY, change
            )


class TestNumbers(base.BaseTestCase):
    def test_only_numbers_of_the_refusal_are_accepted(self):
        group = types.SimpleNamespace(
            id='1',
            name='shop',
            topology=TOPOLOGY,
            refusal={'relaxations': [{'change': rule('', RACKS)}]},
        )

        relaxed = _relaxing.relax(group, 1)

        self.assertFalse(relaxed['policies'][0]['strict'])
        for number in (-1, 0, 2):
            self.assertRaises(
                exceptions.NotFoundException, _relaxing.relax, group, number
            )
