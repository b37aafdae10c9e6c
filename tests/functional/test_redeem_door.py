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
from nova_groupext.objects import states
from nova_groupext.scheduler import manager
from nova_groupext.scheduler.follow import audit
from nova_groupext.scheduler.follow import reaper
from nova_groupext.scheduler.hold import ownership
from nova_groupext.scheduler.redeem import concluding
from tests.functional import base
from tests.functional import door


class TestRedeemDoor(door.DoorCase):
    """What it answers when no planner is asked for help."""

    def setUp(self):
        super().setUp()
        self.override('redeem_replan_time_limit', 0)

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
        self.member('a').change(
            self.context, 'REDEEMING', server_uuid=request[1]
        )
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

    def test_when_placement_fails_at_the_swap_the_member_is_held_again(self):
        self.fail_once(before=True)

        self.assertIn('did not answer', self.refusal(*self.request()))

        self.assertEqual('HELD', self.member('a').status)
        self.assertEqual(14, sum(self.free().values()))
        self.select(*self.request())

    def test_a_swap_whose_answer_was_lost_is_found_out(self):
        planned = self.planned(self.uuid)['a']
        self.fail_once(before=False)

        [[selection]] = self.select(*self.request())

        self.assertEqual(planned, selection.service_host)
        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual(14, sum(self.free().values()))

    def fail_once(self, before):
        """Let the next POST to Placement fail, before or after it is done."""
        post = manager.RedeemingReportClient.post
        failures = [ks_exc.ConnectFailure('a cable was cut')]

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

    def test_a_swap_at_the_instant_of_the_fence_takes_nothing(self):
        """Placement accepts both, if one comes while it reads for the other.

        The fence comes in the middle of the swap: the member is held.
        """
        request = self.request()
        self.in_the_middle_of(request[1], self.fence)

        self.assertIn('was fenced', self.refusal(*request))

        self.assertEqual('HELD', self.member('a').status)
        self.assertEqual({}, self.allocations(request[1]))
        self.assertEqual(14, sum(self.free().values()))
        self.select(*self.request())

    def test_a_fence_at_the_instant_of_the_swap_takes_nothing(self):
        """The swap comes while the hold is moved: the member is a server."""
        request = self.request()
        server = request[1]
        self.member('a').change(self.context, 'REDEEMING', server_uuid=server)
        hold = objects.VRTHold.get_by_member(self.context, self.member('a').id)
        self.in_the_middle_of(hold.uuid, lambda: self.swap(hold, server))

        self.fence()

        self.assertEqual(
            ('ACTIVE', server),
            (self.member('a').status, self.member('a').server_uuid),
        )
        self.assertEqual(14, sum(self.free().values()))
        statuses = {
            each.status
            for each in self.holds_of(self.uuid)
            if each.member_id == hold.member_id
        }
        self.assertEqual({'REDEEMED'}, statuses)

    def fence(self):
        """As the reaper does with a create that nobody hears of."""
        member = self.member('a')
        hold = objects.VRTHold.get_by_member(self.context, member.id)
        concluding.conclude(self.context, self.ledger, member, hold)

    def swap(self, hold, server):
        self.ledger.swap(
            self.context, {server: hold}, self.project, 'somebody'
        )

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

    def test_what_is_taken_back_for_nobody_is_free_at_once(self):
        """Another one has let the member fail meanwhile."""
        spec, server = self.request('a-0', like='a-0')
        self.select(spec, server)
        member = self.member('a-0')

        def fail(point):
            if point == 'before move.commit':
                faultpoints.trap = None
                hold = objects.VRTHold.get_by_member(self.context, member.id)
                ownership.change(
                    self.context,
                    self.ledger,
                    hold,
                    states.Hold.LEAVING,
                    self.member('a-0'),
                    concluding.GONE,
                )

        self.addCleanup(setattr, faultpoints, 'trap', None)
        faultpoints.trap = fail

        concluding.take_back(self.context, self.ledger, member.id, server)

        self.assertEqual('FAILED', self.member('a-0').status)
        self.assertEqual(15, sum(self.free().values()))

    def test_where_one_is_fenced_the_other_gives_back_what_it_got(self):
        """Nobody will build any of them, so no capacity may stay theirs."""
        spec, first = self.request('a', like='a-0')
        _spec, second = self.request('a', like='a-0')

        def fence():
            [member] = [
                each
                for each in (self.member('a-0'), self.member('a-1'))
                if each.server_uuid == second
            ]
            hold = objects.VRTHold.get_by_member(self.context, member.id)
            concluding.conclude(self.context, self.ledger, member, hold)

        self.in_the_middle_of(first, fence)

        self.assertIn('was fenced', self.refusal(spec, first, second))

        for path in ('a-0', 'a-1'):
            self.assertEqual('HELD', self.member(path).status)
            self.assertIsNone(self.member(path).server_uuid)
        for server in (first, second):
            self.assertEqual({}, self.allocations(server))
        self.assertEqual(14, sum(self.free().values()))
        self.assertEqual([], audit.audit(self.context, self.ledger))
        self.select(*self.request('a', like='a-0'))


def _said(selections):
    [[selection]] = selections
    return (
        selection.service_host,
        selection.nodename,
        selection.compute_node_uuid,
        selection.allocation_request,
    )
