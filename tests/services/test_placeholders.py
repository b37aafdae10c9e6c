# SPDX-License-Identifier: Apache-2.0
"""Commit of placeholders, and the groups whose placeholders are maintained."""

import types

from nova import context
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import placeholder_holds
from nova_groupext.objects import states
from tests import groups
from tests.services import databases
from tests.services import servers

ALONE = {'type': 'exclusive', 'scope': 'rack'}


@databases.on(*servers.DATABASES)
class Placeholders:
    def setUp(self):
        super().setUp()
        self.context = context.get_admin_context()

    def create(self, status, *policies):
        """Store a group with a status and policies."""
        group = groups.unstored(
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

    def test_placeholders_of_a_held_group_are_committed_silently(self):
        for status in states.GROUP_WITH_HOLDS:
            group = self.create(status, ALONE)
            placeholder = self.write_down(group)

            self.assertTrue(
                placeholder_holds.commit(self.context, group, [placeholder])
            )

            self.assertEqual(states.Hold.HELD, self.status(placeholder))
            now = self.get(group)
            self.assertEqual(group.generation, now.generation)
            self.assertEqual(group.updated_at, now.updated_at)

    def test_placeholder_of_a_deleted_group_is_not_committed(self):
        group = self.create(states.Group.HELD, ALONE)
        placeholder = self.write_down(group)
        group.mark_deleted(self.context)

        self.assertFalse(
            placeholder_holds.commit(self.context, group, [placeholder])
        )
        self.assertEqual(states.Hold.WRITING, self.status(placeholder))

    def test_placeholders_with_an_abandoned_one_are_not_committed(self):
        group = self.create(states.Group.HELD, ALONE)
        placeholder, other = self.write_down(group), self.write_down(group)
        objects.VRTHold.abandon(self.context, [placeholder])

        self.assertFalse(
            placeholder_holds.commit(self.context, group, [placeholder, other])
        )
        self.assertEqual(states.Hold.WRITING, self.status(other))

    def test_plan_is_committed_with_its_placeholders(self):
        group = self.create(states.Group.PLANNING, ALONE)
        member = group.members[0]
        placeholder = self.write_down(group)
        hold = objects.VRTHold.for_member(member, placeholder.placement({}))
        hold.create(self.context)

        groups.hold_all(self.context, group, [hold, placeholder], None)

        self.assertEqual(states.Hold.HELD, self.status(placeholder))
        self.assertEqual(states.Hold.HELD, self.status(hold))
        self.assertEqual(states.Member.HELD, self.get(group).members[0].status)

    def test_held_groups_with_the_policy_are_listed(self):
        held = self.create(states.Group.HELD, ALONE)
        self.create(states.Group.HELD)
        self.create(states.Group.PLANNED, ALONE)

        self.assertEqual([held.uuid], self.listed())

    def test_groups_with_placeholders_to_release_are_listed(self):
        group = self.create(states.Group.HELD)
        placeholder = self.write_down(group)
        placeholder_holds.commit(self.context, group, [placeholder])
        group.change(self.context, states.Group.RELEASED)
        self.assertEqual([group.uuid], self.listed())

        placeholder_holds.release(self.context, [placeholder])

        self.assertEqual(states.Hold.RELEASING, self.status(placeholder))
        self.assertEqual([], self.listed())

    def test_hold_of_an_exclusive_group_waits_for_the_lease_to_end(self):
        ending = {}
        for status in states.Group:
            for policies in ((ALONE,), ()):
                hold = self.write_down(self.create(status, *policies))
                objects.VRTHold.abandon(self.context, [hold])
                if not policies or status not in states.GROUP_WITH_HOLDS:
                    ending[hold.uuid] = status

        found = objects.VRTHold.list_to_release(self.context)

        self.assertEqual({*ending}, {hold.uuid for hold in found})

    def listed(self):
        found = objects.VRTGroup.list_exclusive(self.context)
        return [group.uuid for group in found]
