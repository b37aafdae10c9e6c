# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/decide/results.py``."""

import types

import fixtures

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext.objects import states
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.decide import results
from nova_groupext.scheduler.decide import strategy
from nova_groupext.solver.model import answers
from tests.unit.scheduler import base

REFUSED = answers.Answer('refused', reason={'code': 'vrt.capacity'})
UNDECIDED = answers.Answer('undecided')


class TestResults(base.ProtocolTestCase):
    def setUp(self):
        super().setUp()
        self.provider = self.deployment.make_provider(2)
        self.uuid = self.deployment.describe([self.provider])
        self.notified = []
        self.useFixture(
            fixtures.MockPatchObject(
                notifications,
                'notify_decision',
                lambda _context, group: self.notified.append(group.status),
            )
        )

    def work(self, group=None, revised=None):
        return strategy.Work(
            *(self.context, self.deployment.group(group or self.uuid)),
            *(None, None, revised),
        )

    def conclude(self, answer, gaps=(), obstacle=None, unknown=()):
        """Conclude without a plan; returns (status, fault, plan's status)."""
        snapshot = types.SimpleNamespace(
            members_unknown_to_placement=lambda: [*unknown]
        )
        results.conclude_without_plan(
            self.work(), snapshot, answer, gaps, obstacle
        )
        group = self.deployment.group(self.uuid)
        plan = VRTPlan.find_newest(self.context, group.id)
        return group.status, group.fault, plan.status

    def test_proof_refuses_the_group(self):
        self.assertEqual(('REFUSED', None, 'refused'), self.conclude(REFUSED))

        self.assertEqual(['REFUSED'], self.notified)

    def test_refusal_with_excluded_nodes_proves_nothing(self):
        self.assertEqual(
            ('UNDECIDED', 'some hosts', 'undecided'),
            self.conclude(REFUSED, obstacle='some hosts'),
        )

    def test_refusal_of_an_incomplete_reading_proves_nothing(self):
        self.assertEqual(
            ('UNDECIDED', results.INCOMPLETE.format('x; y'), 'undecided'),
            self.conclude(REFUSED, gaps=['x', 'y']),
        )

    def test_undecided_answer_decides_nothing(self):
        self.assertEqual(
            ('UNDECIDED', None, 'undecided'), self.conclude(UNDECIDED)
        )

    def test_refusal_names_members_that_placement_does_not_know(self):
        status, fault, _plan = self.conclude(REFUSED, unknown=['m-0'])

        self.assertEqual('REFUSED', status)
        self.assertEqual(results.UNKNOWN.format('m-0'), fault)

    def test_result_of_a_group_that_changed_meanwhile_is_not_stored(self):
        work = self.work()
        self.deployment.mark_deleted(self.uuid)

        self.assertRaises(
            exception.GenerationConflict,
            results.conclude,
            *(work, states.Group.UNDECIDED),
        )

        self.assertEqual([], self.notified)

    def test_result_of_a_revision_is_an_event_of_its_group(self):
        uuid, provider = self.held()
        draft = self.deployment.revise(uuid, {'m-0': provider})
        revised = self.deployment.group(uuid)

        results.conclude(
            self.work(draft, revised), states.Group.UNDECIDED, 'a fault'
        )

        [event, *_older] = VRTEvent.by_group(self.context, [revised.id])[
            revised.id
        ]
        self.assertEqual(
            ('revision_undecided', 'a fault'), (event.name, event.message)
        )
        self.assertEqual('HELD', self.deployment.group(uuid).status)
