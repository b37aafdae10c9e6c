# SPDX-License-Identifier: Apache-2.0
"""Who is promised fillers, and which groups are asked about theirs?"""

import types

from nova import context
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from tests import groups
from tests.services import databases
from tests.services import servers

ALONE = {'type': 'exclusive', 'scope': 'rack'}


@databases.on(*servers.DATABASES)
class Fillers:
    def setUp(self):
        super().setUp()
        self.context = context.get_admin_context()

    def create(self, status, *policies):
        """Store a group as it is after other things have happened."""
        group = groups.described(
            policies=[groups.policy('', each) for each in policies]
        )
        group.create(self.context)
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.id == group.id,
            status=status,
        )
        return self.get(group)

    def get(self, group):
        return objects.VRTGroup.get(self.context, group.uuid)

    def write_down(self, group):
        node = types.SimpleNamespace(
            host='cmp-1',
            hypervisor_hostname='cmp-1',
            uuid=uuidutils.generate_uuid(),
        )
        placeholder = objects.VRTHold.placeholder(group.id, node, {'VCPU': 4})
        placeholder.create(self.context)
        return placeholder

    def status(self, hold):
        [row] = objects.VRTHold.list_by_uuids(self.context, [hold.uuid])
        return row.status

    def test_a_group_that_holds_is_promised_fillers_and_stays_as_it_is(self):
        for status in states.GROUP_WITH_HOLDS:
            group = self.create(status, ALONE)
            placeholder = self.write_down(group)

            self.assertTrue(
                transitions.commit_placeholders(
                    self.context, group, [placeholder]
                )
            )

            self.assertEqual(states.Hold.HELD, self.status(placeholder))
            now = self.get(group)
            self.assertEqual(group.generation, now.generation)
            self.assertEqual(group.updated_at, now.updated_at)

    def test_a_group_that_was_released_meanwhile_is_promised_nothing(self):
        group = self.create(states.Group.HELD, ALONE)
        placeholder = self.write_down(group)
        group.mark_deleted(self.context)

        self.assertFalse(
            transitions.commit_placeholders(self.context, group, [placeholder])
        )
        self.assertEqual(states.Hold.WRITING, self.status(placeholder))

    def test_a_filler_that_has_left_is_promised_to_nobody(self):
        group = self.create(states.Group.HELD, ALONE)
        placeholder, other = self.write_down(group), self.write_down(group)
        objects.VRTHold.retire(self.context, [placeholder])

        self.assertFalse(
            transitions.commit_placeholders(
                self.context, group, [placeholder, other]
            )
        )
        self.assertEqual(states.Hold.WRITING, self.status(other))

    def test_a_plan_is_held_with_its_fillers(self):
        group = self.create(states.Group.PLANNING, ALONE)
        member = group.members[0]
        placeholder = self.write_down(group)
        seat = {
            'host': placeholder.host,
            'node': placeholder.node,
            'provider': placeholder.provider_uuid,
            'allocations': placeholder.allocations,
            'mappings': placeholder.mappings,
        }
        hold = objects.VRTHold.of(member, seat)
        hold.create(self.context)

        groups.hold(self.context, group, [hold, placeholder], None)

        self.assertEqual(states.Hold.HELD, self.status(placeholder))
        self.assertEqual(states.Hold.HELD, self.status(hold))
        self.assertEqual(states.Member.HELD, self.get(group).members[0].status)

    def test_groups_with_the_policy_that_hold_something_are_asked_about(self):
        held = self.create(states.Group.HELD, ALONE)
        self.create(states.Group.HELD)
        self.create(states.Group.PLANNED, ALONE)

        self.assertEqual([held.uuid], self.listed())

    def test_groups_that_have_fillers_to_lose_are_asked_about(self):
        group = self.create(states.Group.HELD)
        placeholder = self.write_down(group)
        transitions.commit_placeholders(self.context, group, [placeholder])
        group.change(self.context, states.Group.RELEASED)
        self.assertEqual([group.uuid], self.listed())

        objects.VRTHold.dismiss(self.context, [placeholder])

        self.assertEqual(states.Hold.RELEASING, self.status(placeholder))
        self.assertEqual([], self.listed())

    def test_what_ends_of_a_group_that_is_alone_waits_for_its_lease(
        self,
    ):
        ending = {}
        for status in states.Group:
            for policies in ((ALONE,), ()):
                hold = self.write_down(self.create(status, *policies))
                objects.VRTHold.retire(self.context, [hold])
                if not policies or status not in states.GROUP_WITH_HOLDS:
                    ending[hold.uuid] = status

        found = objects.VRTHold.list_to_empty(self.context)

        self.assertEqual({*ending}, {hold.uuid for hold in found})

    def listed(self):
        found = objects.VRTGroup.list_exclusive(self.context)
        return [group.uuid for group in found]
