# SPDX-License-Identifier: Apache-2.0
"""What-ifs: planned groups that hold nothing, revised and held later."""

from tests.functional import base
from tests.functional import foreign_consumers
from tests.functional import revising

TOGETHER = {'type': 'affinity', 'scope': 'host'}
APART = {'type': 'anti-affinity', 'scope': 'host', 'strict': False}


class TestWhatIfs(revising.RevisingTestCase):
    def what_if(self, policies=(), **counts):
        """Plan a group of one member set; returns its id."""
        topology = self.topology(policies, **counts)
        self.uuid = self.describe(topology, hold=False)['id']

    @staticmethod
    def topology(policies=(), name='a', **counts):
        return {
            'members': {name: base.member(**counts)},
            'policies': [*policies],
        }

    def put_planned(self, *args, **kwargs):
        """PUT another definition; returns {member path: planned host}."""
        response = self.put(self.uuid, self.topology(*args, **kwargs))
        self.assertEqual(202, response.status_code, response.text)
        group = self.eventually(
            self.group, lambda now: now['status'] != 'PLANNING', self.uuid
        )
        self.assertEqual('PLANNED', group['status'], group)
        return self.planned_hosts(self.uuid)

    def test_dropped_members_are_not_planned(self):
        self.what_if(count=3)

        self.assertEqual({'a-0', 'a-1'}, {*self.put_planned(count=2)})

    def test_other_members_are_planned(self):
        self.what_if(count=3)

        self.assertEqual({'b-0', 'b-1'}, {*self.put_planned((), 'b', count=2)})

    def test_added_optional_members_are_planned(self):
        self.what_if(count=2)

        planned = self.put_planned(count=4, min_count=2)

        self.assertEqual(4, len([host for host in planned.values() if host]))

    def test_new_soft_policy_is_respected(self):
        self.what_if([TOGETHER], count=2)

        planned = self.put_planned([APART], count=2)

        self.assertEqual(2, len(set(planned.values())))

    def test_replan_after_a_release_plans_anew(self):
        """The first plan leaves optional members out for lack of capacity."""
        self.fill('cmp-1', VCPU=3)
        consumer = foreign_consumers.fill(self.cloud, 'cmp-2', VCPU=3)
        self.uuid = self.hold_group(self.topology(count=4, min_count=1))['id']
        self.assertEqual(2, len(self.held_hosts(self.uuid)))
        self.act(self.uuid, 'release')
        self.cloud.placement.delete(f'/allocations/{consumer}')

        self.act(self.uuid, 'replan')

        self.eventually(
            self.held_hosts, lambda held: len(held) == 4, self.uuid
        )
