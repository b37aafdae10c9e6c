# SPDX-License-Identifier: Apache-2.0
"""Groups that adopt the same server concurrently."""

import functools

from nova import context
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext import quota
from nova_groupext.objects import adoptions
from nova_groupext.objects import drafts
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
        """Return a group, a draft that adopts a server, and a lease."""
        requester = context.get_admin_context()
        group = self.create(requester, **values)
        group.change(requester, states.Group.PLANNED)
        draft = groups.unstored()
        draft.members[0].server_uuid = server
        drafts.store(requester, group, draft)
        plan = objects.VRTPlan(
            group_id=draft.id,
            status=objects.VRTPlan.PLACED,
            placements={PATH: groups.placement(uuidutils.generate_uuid(), 1)},
            answer={},
        )
        plan.create(requester)
        return group, draft, groups.acquire_lease(requester, group)

    @staticmethod
    def adopt(requester, group, draft, lease):
        plan = objects.VRTPlan.find_newest(requester, draft.id)
        begin = functools.partial(
            adoptions.insert_holds,
            *(requester, lease, group, draft, plan.placements),
        )
        adopted = quota.with_project_lock(requester, group.project_id, begin)
        swap = swaps.Swap([], [], adopted=adopted)
        revisions.commit(*(requester, lease, group, draft, swap), lambda: None)

    def statuses(self, group):
        found = self.get(group)
        return found.status, found.members[0].status

    def test_one_of_concurrent_groups_adopts_a_server(self):
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

    def test_adoption_by_a_concurrently_held_group_conflicts(self):
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
