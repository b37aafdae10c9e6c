# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/adopt/adoption.py``."""

import fixtures

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.adopt import adoption
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.nova import stored_hints
from tests import groups
from tests.services import deployment
from tests.unit.scheduler import base

ServerOutcome = servers.ServerOutcome


class TestAdoption(base.ProtocolTestCase):
    """A draft whose second member adopts a server that has no group."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(slots=2)
        self.server = self.deployment.fill(self.provider)
        self.deployment.server_outcomes[self.server] = ServerOutcome.LIVE
        self.deployment.server_hosts[self.server] = self.provider
        draft = self.deployment.revise(
            self.uuid,
            {'m-0': self.provider, 'm-1': self.provider},
            adopts=[('m-1', self.server)],
        )
        self.group, self.draft = map(self.deployment.group, (self.uuid, draft))
        self.lease = self.acquire_lease(self.uuid)
        self.hints = []
        self.useFixture(
            fixtures.MockPatchObject(stored_hints, '_set_hints', self.store)
        )

    def store(self, _context, server, _get_member_ref):
        """Store hints; the rows are there already."""
        self.hints.append((server, *self.adopted()))

    def locate(self):
        return adoption.locate(
            *(self.context, self.deployment.placement_client()),
            *(self.group, self.draft),
        )

    def begin(self):
        plan = VRTPlan(
            placements={
                path: groups.placement(self.provider, deployment.MEMBER_VCPUS)
                for path in ('m-0', 'm-1')
            }
        )
        return adoption.begin(
            *(self.context, self.deployment.placement_client()),
            *(self.lease, self.group, self.draft, plan),
        )

    def adopted(self):
        """Return the statuses of the holds for the server."""
        holds = VRTHold.list_by_status(self.context, *states.Hold)
        return [h.status for h in holds if h.server_uuid == self.server]

    def conflict(self):
        """Return the reason why the server is not adopted."""
        error = self.assertRaises(exception.ServerConflict, self.locate)
        return error.format_message()

    def test_server_is_located_with_its_own_allocation(self):
        [(path, hold)] = self.locate().items()

        self.assertEqual(('m-1', self.provider), (path, hold.host))
        self.assertEqual({'VCPU': 2}, hold.amounts())
        self.assertEqual([], self.adopted())

    def test_rows_are_inserted_before_the_hints(self):
        writes = self.points(self.begin)

        self.assertEqual(['adopt.begin'], writes)
        self.assertEqual([(self.server, 'REDEEMED')], self.hints)

    def test_server_that_moves_while_it_is_adopted_is_refused(self):
        def move():
            self.deployment.server_hosts[self.server] = (
                self.deployment.make_provider(1)
            )

        self.call_at('after adopt.begin', move)

        self.assertRaises(exception.GenerationConflict, self.begin)

        self.assertEqual(1, len(self.hints))

    def test_begun_adoption_is_compensated(self):
        self.begin()

        adoption.compensate(self.context, self.lease, self.draft)

        self.assertEqual(['RELEASED'], self.adopted())
        self.assertIn(self.server, self.deployment.allocations())

    def test_begun_adoption_is_ended_by_the_next_owner(self):
        self.kill_at('after adopt.begin', self.begin)
        self.assertEqual(['REDEEMED'], self.adopted())

        self.take_over(self.uuid)

        self.assertEqual(['RELEASED'], self.adopted())
        self.assertEqual({'m-0': 'HELD'}, self.statuses(self.uuid))
        self.assertIn(self.server, self.deployment.allocations())

    def test_adoption_without_the_lease_writes_nothing(self):
        self.take_over(self.uuid)

        self.assertRaises(exception.GroupBusy, self.begin)

        self.assertEqual(([], []), (self.adopted(), self.hints))

    def test_server_that_cannot_be_adopted_now_is_a_conflict(self):
        for change, reason in (
            (
                lambda: self.deployment.server_hosts.pop(self.server),
                'not on a host',
            ),
            (
                lambda: self.deployment.moving_servers.add(self.server),
                'moving',
            ),
            (
                lambda: self.deployment.server_outcomes.update(
                    {self.server: ServerOutcome.IN_ERROR}
                ),
                'in ERROR',
            ),
            (
                lambda: self.deployment.server_outcomes.pop(self.server),
                'does not answer',
            ),
        ):
            change()
            self.assertIn(reason, self.conflict())
            self.deployment.server_hosts[self.server] = self.provider
            self.deployment.moving_servers.clear()

    def test_server_without_an_allocation_is_a_conflict(self):
        self.deployment.delete_allocations(self.server)

        self.assertIn('allocation in Placement', self.conflict())

    def test_server_of_another_group_is_a_conflict(self):
        other, _provider = self.held(slots=1)
        self.deployment.delete_allocations(self.server)
        self.deployment.redeem(other, 'm-0', self.server)

        self.assertIn('already member m-0', self.conflict())

    def test_member_that_got_a_server_meanwhile_is_a_conflict(self):
        self.draft.members[0].server_uuid = self.server
        self.draft.members[1].server_uuid = None
        self.deployment.redeem(self.uuid, 'm-0')
        self.group = self.deployment.group(self.uuid)

        self.assertRaises(exception.MemberStateConflict, self.locate)

    def test_draft_without_servers_adopts_nothing(self):
        self.draft.members[1].server_uuid = None

        self.assertEqual(({}, []), (self.locate(), self.begin()))

        self.assertEqual([], self.hints)
