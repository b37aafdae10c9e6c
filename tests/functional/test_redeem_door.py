# SPDX-License-Identifier: Apache-2.0
"""What does the redeem door answer to requests that come twice, or late?"""

from concurrent import futures
import time

import fixtures
from keystoneauth1 import exceptions as ks_exc
from nova import exception as nova_exc
from nova import objects as nova_objects
from oslo_utils import timeutils

from nova_groupext import faultpoints
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import transitions
from nova_groupext.scheduler import manager
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import take_back
from nova_groupext.scheduler.reap import reaper
from tests import rounds
from tests.functional import base
from tests.functional import door


class TestRedeemDoor(door.DoorCase):
    """What it answers when no planner is asked for help."""

    def setUp(self):
        super().setUp()
        self.override('redeem_replacement_time_limit', 0)

    def test_the_same_request_delivered_twice_gets_the_same_answer(self):
        request = self.request()

        first, second = self.select(*request), self.select(*request)

        self.assertEqual(_said(first), _said(second))
        self.assertEqual(1, len(first[0]), 'no alternates')
        self.assertEqual('ACTIVE', self.member('a').status)

    def test_the_same_request_delivered_at_once_gets_the_same_answer(self):
        request = self.request()

        with futures.ThreadPoolExecutor(4) as pool:
            answers = list(
                pool.map(lambda _number: self.select(*request), range(4))
            )

        self.assertEqual(1, len({_said(answer) for answer in answers}))
        self.assertEqual(14, sum(self.free().values()))

    def test_a_delivery_in_the_middle_of_the_swap_waits_for_its_end(self):
        """Placement knows the server then, but gives it nothing yet."""
        request = self.request()
        deliveries = futures.ThreadPoolExecutor(1)
        self.addCleanup(deliveries.shutdown)
        second = []

        def deliver_again():
            posts = self.count_posts()
            second.append(deliveries.submit(self.select, *request))
            while len(posts) < 2 and not second[0].done():
                time.sleep(0.01)

        self.in_the_middle_of(request[1], deliver_again)

        first = self.select(*request)

        self.assertEqual(_said(first), _said(second[0].result()))
        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual(14, sum(self.free().values()))

    def count_posts(self):
        """Return a list that gets the answer to each POST from now on."""
        post = manager.RedeemingReportClient.post
        answers = []

        def answered(client, *args, **kwargs):
            answers.append(post(client, *args, **kwargs))
            return answers[-1]

        self.patch(manager.RedeemingReportClient, 'post', answered)
        return answers

    def test_another_server_is_refused_and_takes_nothing(self):
        self.select(*self.request())

        why = self.refusal(*self.request())

        self.assertIn('it is ACTIVE', why)
        self.assertEqual(14, sum(self.free().values()))

    def test_another_project_finds_no_such_member(self):
        self.assertIn(
            'has no member', self.refusal(*self.request(project_id='other'))
        )

    def test_another_flavor_is_refused_and_the_member_stays_held(self):
        larger = nova_objects.Flavor.get_by_name(self.context, 'm1.small')

        why = self.refusal(*self.request(flavor=larger))

        self.assertIn('other resources than described', why)
        self.assertEqual('HELD', self.member('a').status)

    def test_another_zone_is_refused(self):
        why = self.refusal(*self.request(availability_zone='az1'))

        self.assertIn('other resources than described', why)

    def test_one_hint_alone_is_refused(self):
        why = self.refusal(
            *self.request(scheduler_hints={'vrt_member': ['a']})
        )

        self.assertIn('belong together', why)

    def test_what_has_expired_is_refused_and_says_so(self):
        """Before and after the reaper comes by."""
        expired = timeutils.utcnow().replace(microsecond=0)
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.uuid == self.uuid,
            expires_at=expired,
        )
        told = f'its group expired at {expired.isoformat()}Z'

        self.assertIn(f'it is HELD: {told}', self.refusal(*self.request()))
        reaper.expire(self.context)
        why = self.refusal(*self.request())
        self.assertIn(f'it is RELEASED: {told}', why)

    def test_what_is_being_created_when_its_group_expires_is_created(self):
        request = self.request()
        self.reserve('a', request[1])
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.uuid == self.uuid,
            expires_at=timeutils.utcnow(),
        )

        self.select(*request)

        self.assertEqual('ACTIVE', self.member('a').status)

    def test_a_host_that_went_down_turns_the_server_back(self):
        planned = self.planned(self.uuid)['a']
        self.disable(planned)

        request = self.request()
        why = self.refusal(*request)

        self.assertIn('does not pass', why)
        self.assertEqual('HELD', self.member('a').status)
        self.assertIsNone(self.member('a').server_uuid)
        self.assertEqual(14, sum(self.free().values()))

    def test_after_being_turned_back_the_member_can_be_redeemed(self):
        planned = self.planned(self.uuid)['a']
        enable = self.disable(planned)
        self.refusal(*self.request())

        enable()

        [[selection]] = self.select(*self.request())
        self.assertEqual(planned, selection.service_host)

    def test_one_request_turned_back_many_times_at_once_is_held_once(self):
        planned = self.planned(self.uuid)['a']
        enable = self.disable(planned)

        for _round in range(3):
            request = self.request()
            with futures.ThreadPoolExecutor(6) as pool:
                tries = [pool.submit(self.refusal, *request) for _ in range(6)]
            for each in tries:
                self.assertIn('could not be redeemed', each.result())
            self.assertEqual('HELD', self.member('a').status)
            self.assertEqual(2, len(self.holds_of(self.uuid)))
            self.assertEqual(14, sum(self.free().values()))

        enable()
        self.select(*self.request())

    def test_when_placement_fails_at_the_swap_it_is_sent_again(self):
        self.fail_once(before=True)

        self.select(*self.request())

        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual(14, sum(self.free().values()))

    def test_while_placement_says_nothing_it_is_not_known(self):
        """It is found out by the next delivery, or by the reaper."""
        self.patch(redeem, 'PATIENCE', 0)
        request = self.request()
        self.fail_once(before=True, times=3)

        self.assertIn('did not say what became', self.refusal(*request))

        self.assertEqual('REDEEMING', self.member('a').status)
        self.select(*request)
        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual(14, sum(self.free().values()))

    def test_what_its_scheduler_has_left_undone_the_reaper_does(self):
        request = self.request()
        self.reserve('a', request[1])
        self.patch(redeem, 'OVERDUE', -1)

        [member] = reaper.list_stuck_redeems(self.context)
        reaper.resolve_redeem(self.context, self.ledger, member)

        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertTrue(self.allocations(request[1]))
        self.assertEqual(14, sum(self.free().values()))

    def test_a_swap_whose_answer_was_lost_is_found_out(self):
        planned = self.planned(self.uuid)['a']
        self.fail_once(before=False)

        [[selection]] = self.select(*self.request())

        self.assertEqual(planned, selection.service_host)
        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual(14, sum(self.free().values()))

    def fail_once(self, before, times=1):
        """Let the next POST to Placement fail, before or after it is done."""
        post = manager.RedeemingReportClient.post
        failures = [ks_exc.ConnectFailure('a cable was cut')] * times

        def failing(client, *args, **kwargs):
            if not failures:
                return post(client, *args, **kwargs)
            failure = failures.pop()
            if not before:
                post(client, *args, **kwargs)
            raise failure

        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.manager.RedeemingReportClient.post',
                failing,
            )
        )

    def test_who_is_being_created_gets_what_an_admin_has_deleted(self):
        """There is still room for it."""
        spec, server, hold = self.robbed()

        self.select(spec, server)

        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual(
            hold.allocations, self.ledger.allocations(self.context, server)
        )

    def robbed(self, fate=servers.ServerOutcome.COMING, **known):
        """Let an admin delete the hold of a server that is being created.

        :param known: what else Nova says of the server
        :returns: (its request, its uuid, the hold)
        """
        spec, server = self.request()
        hold = self.reserve('a', server)
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        found = servers.Server(fate, **known)
        self.patch(servers, 'read', lambda *_args: {server: found})
        return spec, server, hold

    def test_where_there_is_no_room_any_more_the_member_has_failed(self):
        spec, server, hold = self.robbed()
        self.fill(hold.host, VCPU=self.free()[hold.host])

        self.assertIn('its hold is gone', self.refusal(spec, server))

        self.assertEqual('FAILED', self.member('a').status)
        self.assertEqual({}, self.allocations(server))

    def test_a_server_that_moves_by_now_is_not_filled(self):
        """What it has may be its migration's for a while."""
        spec, server, _hold = self.robbed(is_moving=True)

        self.assertIn('did not say what became', self.refusal(spec, server))

        self.assertEqual('REDEEMING', self.member('a').status)
        self.assertEqual({}, self.allocations(server))
        dead = servers.Server(servers.ServerOutcome.DELETED)
        self.patch(servers, 'read', lambda *_args: {server: dead})
        reaper.resolve_redeem(self.context, self.ledger, self.member('a'))
        self.assertEqual('FAILED', self.member('a').status)

    def test_what_could_not_be_built_is_not_filled(self):
        spec, server, _hold = self.robbed(servers.ServerOutcome.BROKEN)

        self.assertIn('its hold is gone', self.refusal(spec, server))

        self.assertEqual('FAILED', self.member('a').status)

    def test_what_is_shelved_by_now_is_not_filled(self):
        spec, server, _hold = self.robbed(
            servers.ServerOutcome.LIVE, is_shelved=True
        )

        self.select(spec, server)

        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual({}, self.allocations(server))

    def reserve(self, path, server):
        """Write a server to a member, as requests do; returns its hold."""
        member = self.member(path)
        hold = objects.VRTHold.get_by_member(self.context, member.id)
        own = {server: (member, hold)}
        self.assertTrue(transitions.reserve(self.context, own))
        return hold

    def test_a_member_whose_hold_an_admin_deleted_has_failed(self):
        member = self.member('a')
        hold = objects.VRTHold.get_by_member(self.context, member.id)
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')

        why = self.refusal(*self.request())

        self.assertIn('its hold is gone', why)
        self.assertEqual(
            ('FAILED', 'its hold is gone from Placement'),
            (self.member('a').status, self.member('a').fault),
        )


class TestSeveral(door.DoorCase):
    """Requests that are handled at once, and several servers of one."""

    TOPOLOGY = {'members': {'a': base.member(count=2)}}

    def test_many_deliveries_that_find_another_place_redeem_once(self):
        request = self.request(like='a-0', pointed='a-0')
        planned = self.planned(self.uuid)['a-0']
        self.disable(planned)

        def deliver(_number):
            try:
                return self.select(*request)
            except nova_exc.NoValidHost:
                return None

        with futures.ThreadPoolExecutor(4) as pool:
            answers = [each for each in pool.map(deliver, range(4)) if each]

        self.assertLessEqual(len({_said(answer) for answer in answers}), 1)
        [[selection]] = self.select(*request)
        self.assertNotEqual(planned, selection.service_host)
        self.assertEqual('ACTIVE', self.member('a-0').status)
        self.assertEqual('HELD', self.member('a-1').status)
        self.assertEqual(14, sum(self.free().values()))

    def test_what_is_taken_back_for_nobody_is_free(self):
        """The group is deleted meanwhile."""
        spec, server = self.request('a-0', like='a-0')
        self.select(spec, server)
        member = self.member('a-0')
        hold = objects.VRTHold.get_by_member(self.context, member.id)
        group = objects.VRTGroup.get(self.context, self.uuid)

        def delete(point):
            if point == 'before swap.commit':
                faultpoints.trap = None
                self.api().delete(f'{base.GROUPS}/{self.uuid}')

        self.addCleanup(setattr, faultpoints, 'trap', None)
        faultpoints.trap = delete

        with self.leases.owning(self.context, self.ledger, group.id) as lease:
            take_back.take_back(self.context, self.ledger, lease, hold)
        # Who was told of the end may have found the group busy.
        rounds.reap(planner.Planner('reaper'), self.context)

        self.eventually(self.free, lambda free: sum(free.values()) == 16)


def _said(selections):
    [[selection]] = selections
    return (
        selection.service_host,
        selection.nodename,
        selection.compute_node_uuid,
        selection.allocation_request,
    )
