# SPDX-License-Identifier: Apache-2.0
"""Of groups that adopt the same server at once, does one get it?"""

import functools

from nova import context
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext import quota
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from tests import groups
from tests.services import databases
from tests.services import servers
from tests.services import test_objects

PATH = 'master'
# Without the lock a round seldom has one winner only.
ROUNDS = 2


@databases.on(*servers.DATABASES, servers.SNAPSHOTS)
class Adopting(test_objects.Objects):
    def adopting(self, server, **values):
        """Return a group and what makes one of its members a server."""
        requester = context.get_admin_context()
        group = self.create(requester, **values)
        group.change(requester, states.Group.PLANNED)
        draft = groups.described()
        draft.members[0].server_uuid = server
        revisions.start(requester, group, draft)
        plan = objects.VRTPlan(
            group_id=draft.id,
            status=objects.VRTPlan.PLACED,
            placement={PATH: groups.seat(uuidutils.generate_uuid(), 1)},
            answer={},
        )
        plan.create(requester)
        return group, draft, groups.lease(requester, group)

    @staticmethod
    def adopt(requester, group, draft, lease):
        plan = objects.VRTPlan.newest(requester, draft.id)
        begin = functools.partial(
            revisions.begin_to_adopt,
            *(requester, lease, group, draft, plan.placement),
        )
        adopted = quota.serialised(requester, group.project_id, begin)
        swap = swaps.Swap([], [], adopted=adopted)
        revisions.commit(*(requester, lease, group, draft, swap), lambda: None)

    def statuses(self, group):
        found = self.get(group)
        return found.status, found.members[0].status

    def test_one_group_gets_a_server(self):
        for _round in range(ROUNDS):
            server = uuidutils.generate_uuid()
            some = [self.adopting(server) for _group in range(3)]

            self.one_wins(
                [test_objects.call(self.adopt, *each) for each in some],
                exception.GenerationConflict,
            )

            self.assertEqual(
                [
                    (states.Group.ACTIVE, states.Member.ACTIVE),
                    *2 * [(states.Group.PLANNED, states.Member.TENTATIVE)],
                ],
                sorted(self.statuses(group) for group, *_rest in some),
            )
            [owner] = objects.VRTMember.list_by_servers(
                context.get_admin_context(), [server]
            )
            self.assertEqual((PATH, server), (owner.path, owner.server_uuid))

    def test_a_group_that_is_held_meanwhile_does_not_change(self):
        group, draft, lease = self.adopting(uuidutils.generate_uuid())
        requester = context.get_admin_context()
        self.get(group).change(requester, states.Group.PLANNING)

        self.assertRaises(
            exception.GenerationConflict,
            *(self.adopt, requester, group, draft, lease),
        )

        self.assertEqual(
            (states.Group.PLANNING, states.Member.TENTATIVE),
            self.statuses(group),
        )
        self.assertEqual([], self.holds(group))
