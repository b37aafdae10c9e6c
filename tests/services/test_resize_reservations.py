# SPDX-License-Identifier: Apache-2.0
"""Resize reservations: their queries, their quota and their release."""

from nova import context
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import move_transitions
from nova_groupext.objects import releases
from nova_groupext.objects import states
from tests import groups
from tests.services import databases
from tests.services import servers
from tests.services import test_objects

SMALL, MEDIUM = (
    {'flavor_id': name, 'flavor': {'name': name}}
    for name in ('small', 'medium')
)


@databases.on(*servers.DATABASES)
class ResizeReservations(test_objects.Objects):
    def setUp(self):
        super().setUp()
        self.requester = context.get_admin_context()
        self.server = uuidutils.generate_uuid()
        self.home = uuidutils.generate_uuid()

    def growing(self):
        """Return a group of one server, its member, hold and reservation."""
        group = groups.equal_members(1)
        group.member_sets[0].resolved_request = MEDIUM
        group.create(self.requester)
        [member] = group.members
        hold = objects.VRTHold.for_server(
            member, groups.placement(self.home, 1)
        )
        hold.create(self.requester)
        reservation = objects.VRTHold.reservation(
            member, groups.placement(self.home, 2)
        )
        reservation.status = states.Hold.HELD
        reservation.create(self.requester)
        for model, this, values in (
            (
                models.Group,
                models.Group.id == group.id,
                {
                    'status': states.Group.HELD,
                    'expires_at': timeutils.utcnow(),
                },
            ),
            (
                models.Member,
                models.Member.id == member.id,
                {
                    'status': states.Member.ACTIVE,
                    'server_uuid': self.server,
                    'server_request': SMALL,
                },
            ),
        ):
            db.compare_and_set(self.requester, model, this, **values)
        group = self.get(group)
        return group, group.members[0], hold, reservation

    def found(self, group):
        """Return the uuids of the reservations that each query finds."""
        ids = [group.id]
        hold_of = objects.VRTHold
        return (
            [each.uuid for each in hold_of.list_reservations(self.requester)],
            [
                each.uuid
                for each in hold_of.reservations_by_member(
                    self.requester, ids
                ).values()
            ],
            getattr(
                hold_of.find_reservation(self.requester, self.server),
                'uuid',
                None,
            ),
        )

    def counted(self, **kwargs):
        growing = objects.VRTMember.list_resizing(
            self.requester, 'project', **kwargs
        )
        return [(each.path, each.server_request) for each in growing]

    def test_reservation_is_found_until_the_server_is_resized(self):
        group, member, hold, reservation = self.growing()
        uuid = reservation.uuid
        self.assertEqual(([uuid], [uuid], uuid), self.found(group))
        self.assertEqual([('m-0', SMALL)], self.counted())
        self.assertEqual([], self.counted(excluded_ids=[member.id]))

        larger = groups.placement(self.home, 2)
        self.assertTrue(
            move_transitions.store_location(
                self.requester, member, hold, larger, is_resized=True
            )
        )

        self.assertEqual(([], [], None), self.found(group))
        fresh = self.get(group)
        self.assertEqual(
            (states.Group.ACTIVE, None),
            (fresh.status, fresh.members[0].server_request),
        )
        by_uuid = {each.uuid: each for each in self.holds(group)}
        self.assertEqual(states.Hold.RELEASING, by_uuid[uuid].status)
        self.assertEqual(larger.allocations, by_uuid[hold.uuid].allocations)

    def test_reservation_expires_with_its_group(self):
        group, _member, hold, reservation = self.growing()

        self.assertTrue(releases.expire(self.requester, group))

        self.assertEqual(([], [], None), self.found(group))
        self.assertEqual(states.Group.ACTIVE, self.get(group).status)
        self.assertEqual(
            {
                hold.uuid: states.Hold.REDEEMED,
                reservation.uuid: states.Hold.RELEASING,
            },
            {each.uuid: each.status for each in self.holds(group)},
        )
