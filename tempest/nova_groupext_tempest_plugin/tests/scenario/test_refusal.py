# SPDX-License-Identifier: Apache-2.0
"""Scenarios of refusals, and of violated soft policies."""

from tempest.lib import decorators

from nova_groupext_tempest_plugin.common import relaxations
from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.tests import base


class RefusalTest(base.BaseGroupTest):
    def create_refused(self, topology):
        """Create a group, check that it is refused, return its refusal."""
        group = self.describe(topology)
        self.assertEqual('REFUSED', group['status'])
        self.assertIs(True, group['refusal']['minimal'])
        return group['refusal']

    def assert_relaxations_fit(self, topology, refusal):
        """Check that each relaxation of a refusal makes a group feasible."""
        for relaxation in refusal['relaxations']:
            changed = relaxations.apply(topology, relaxation['change'])
            self.assertNotEqual(topology, changed)
            planned = self.describe(changed, hold=False)
            self.assertEqual('PLANNED', planned['status'], relaxation)

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('2d6c8ea1-4a75-4f8b-a903-5da0e2f8a701')
    def test_each_relaxation_of_a_refusal_fits(self):
        contradictory = topologies.impossible('sub')

        refusal = self.create_refused(contradictory)

        self.assertEqual('vrt.policies', refusal['reason']['code'])
        conflict_parts = {
            (each['at'], each.get('members') or each['policy']['type'])
            for each in refusal['conflict']
        }
        self.assertEqual(
            {('sub', 'a'), ('sub', 'affinity'), ('sub', 'anti-affinity')},
            conflict_parts,
        )
        self.assertGreaterEqual(len(refusal['relaxations']), 2)
        self.assert_relaxations_fit(contradictory, refusal)

    @decorators.idempotent_id('2d6c8ea1-4a75-4f8b-a903-5da0e2f8a703')
    def test_changes_that_fit_only_together_are_proposed_together(self):
        contradictory = topologies.impossible('one', 'two')

        refusal = self.create_refused(contradictory)

        changes = [each['change'] for each in refusal['relaxations']]
        self.assertTrue(changes)
        for change in changes:
            self.assertEqual(
                {'one', 'two'}, {part['at'] for part in change['together']}
            )
        self.assert_relaxations_fit(contradictory, refusal)

    @decorators.idempotent_id('2d6c8ea1-4a75-4f8b-a903-5da0e2f8a702')
    def test_broken_soft_policy_is_shown_as_a_violation(self):
        soft = {**topologies.HOST_ANTI_AFFINITY, 'strict': False}

        group = self.describe(
            topologies.equal_members(2, [topologies.HOST_AFFINITY, soft]),
            hold=False,
        )

        self.assertEqual('PLANNED', group['status'])
        self.assertEqual(
            [{'at': '', 'policy': topologies.HOST_ANTI_AFFINITY}],
            group['violations'],
        )
        one, two = (member['domains'] for member in group['members'])
        self.assertEqual(one, two)
