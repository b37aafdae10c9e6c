# SPDX-License-Identifier: Apache-2.0
"""Is what leaves a host that a group has to itself exchanged, not freed?"""

import fixtures

from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.protocol import ownership
from nova_groupext.scheduler.protocol import placeholders
from nova_groupext.scheduler.reap import reaper
from tests.functional import exclusive_groups


class TestExchange(exclusive_groups.KeepingCase):
    def vrt_group(self):
        return objects.VRTGroup.get(self.context, self.uuid)

    def release(self, *wanted):
        """Give members up; nobody has emptied their holds yet."""
        group = self.vrt_group()
        members = [each for each in group.members if each.path in wanted]
        transitions.give_up(self.context, group, members)

    def leaving(self):
        return [
            hold
            for hold in self.holds_of(self.uuid)
            if hold.status == states.Hold.RELEASING
        ]

    def never_free(self):
        """Fail where anything of the rack is free after a request of ours."""

        def trap(point):
            if point in ('after hold.post', 'after release.post'):
                self.assert_alone()

        return fixtures.MonkeyPatch('nova_groupext.faultpoints.trap', trap)

    def test_what_was_released_is_exchanged(self):
        self.release('a-0', 'a-1')

        with self.never_free():
            self.keep()

        self.assert_alone()
        self.assertEqual(1, self.members_held())
        self.assertEqual([], self.leaving())

    def test_a_member_that_loses_its_hold_leaves_its_place_to_nobody(self):
        [member, *_] = self.vrt_group().members
        hold = objects.VRTHold.get_by_member(self.context, member.id)

        with self.never_free():
            ownership.end(
                *(self.context, hold, member),
                {'status': states.Member.FAILED, 'fault': 'a test'},
            )
            self.keep()

        self.assert_alone()
        self.assertEqual([], self.leaving())

    def test_what_a_deleted_group_gives_up_is_free(self):
        self.release('a-0')
        reaper.empty(self.context, self.ledger)
        self.assert_alone()
        self.vrt_group().mark_deleted(self.context)

        reaper.empty(self.context, self.ledger)

        self.assertEqual([], self.leaving())
        self.assertEqual(16 + 8, sum(self.free().values()))
        planner.Planner('a').serve_group(self.context, self.uuid)
        self.assertEqual(self.empty(), self.free())

    def test_what_leaves_a_host_out_of_service_is_free(self):
        host = self.hold_of('a-0').host
        services = self.cloud.nova('admin').services
        [service] = services.list(host=host, binary='nova-compute')
        services.disable(service.id)
        self.addCleanup(services.enable, service.id)
        self.release('a-0')

        self.keep()

        self.assertEqual([], self.leaving())
        self.assertEqual(8, self.free()[host])

    def hold_of(self, path):
        [member] = [m for m in self.vrt_group().members if m.path == path]
        return objects.VRTHold.get_by_member(self.context, member.id)

    def test_of_an_unknown_host_nothing_is_given_back_before_it_answers(self):
        self.release('a-0')

        with fixtures.MockPatchObject(
            hosts, 'nodes', exclusive_groups.no_answer
        ):
            self.keep()
        self.assertEqual(1, len(self.leaving()))
        self.assert_alone()

        self.keep()
        self.assertEqual([], self.leaving())
        self.assert_alone()

    def test_where_fillers_are_refused_nothing_waits_for_ever(self):
        self.release('a-0')
        cut = placeholders.cut

        def too_much(*args):
            wanted = cut(*args)
            for hold in wanted:
                hold.allocations[hold.provider_uuid]['resources'] = {'VCPU': 9}
            return wanted

        with fixtures.MockPatchObject(placeholders, 'cut', too_much):
            self.keep()
        self.assertEqual([], self.leaving())

        self.keep()
        self.assert_alone()

    def test_a_member_that_is_held_again_leaves_the_rest_to_nobody(self):
        removed = self.hold_of('a-0')
        self.cloud.placement.delete(f'/allocations/{removed.uuid}')

        with self.never_free():
            follow.follow_holds(self.context, self.ledger, self.leases)

        self.assert_alone()
        self.assertNotEqual(removed.uuid, self.hold_of('a-0').uuid)
        self.assertEqual(3, self.members_held())
