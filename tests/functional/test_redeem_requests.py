# SPDX-License-Identifier: Apache-2.0
"""Redeem requests that are repeated, concurrent, late or mismatched."""

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
from nova_groupext.objects import redeems
from nova_groupext.scheduler import manager
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import take_back
from nova_groupext.scheduler.reap import reaper
from tests import rounds
from tests.functional import base
from tests.functional import redeem_requests


class TestRedeemRequests(redeem_requests.RedeemTestCase):
    """Redeem requests without a replacement by a planner."""

    def setUp(self):
        super().setUp()
        self.set_option('redeem_replacement_time_limit', 0)

    def test_request_delivered_twice_gets_the_same_answer(self):
        request = self.request()

        first, second = self.select(*request), self.select(*request)

        self.assertEqual(_said(first), _said(second))
        self.assertEqual(1, len(first[0]), 'no alternates')
        self.assertEqual('ACTIVE', self.member('a').status)

    def test_host_in_a_disabled_cell_is_not_used(self):
        for is_disabled in (True, False):
            self.set_cell(disabled=is_disabled)
            request = self.request()

            if is_disabled:
                self.addCleanup(self.set_cell, disabled=False)
                self.select_refusal(*request)
                self.assertEqual('HELD', self.member('a').status)
            else:
                self.select(*request)

    def test_host_in_another_cell_than_the_requested_one_is_not_used(self):
        spec, server = self.request()
        spec.requested_destination = nova_objects.Destination(
            cell=nova_objects.CellMapping.get_by_uuid(
                self.context, nova_objects.CellMapping.CELL0_UUID
            ),
            allow_cross_cell_move=False,
        )

        self.select_refusal(spec, server)

        self.assertEqual('HELD', self.member('a').status)

    def set_cell(self, **values):
        """Change the cell of the hosts."""
        [cell] = [
            each
            for each in nova_objects.CellMappingList.get_all(self.context)
            if not each.is_cell0()
        ]
        for name, value in values.items():
            setattr(cell, name, value)
        cell.save()

    def test_concurrent_deliveries_of_a_request_get_the_same_answer(self):
        request = self.request()

        with futures.ThreadPoolExecutor(4) as pool:
            answers = list(
                pool.map(lambda _number: self.select(*request), range(4))
            )

        self.assertEqual(1, len({_said(answer) for answer in answers}))
        self.assertEqual(14, sum(self.free().values()))

    def test_delivery_during_the_swap_waits_for_its_end(self):
        """Placement has the server's consumer, without allocations yet."""
        request = self.request()
        deliveries = futures.ThreadPoolExecutor(1)
        self.addCleanup(deliveries.shutdown)
        second = []

        def deliver_again():
            posts = self.count_posts()
            second.append(deliveries.submit(self.select, *request))
            while len(posts) < 2 and not second[0].done():
                time.sleep(0.01)

        self.call_during_request(request[1], deliver_again)

        first = self.select(*request)

        self.assertEqual(_said(first), _said(second[0].result()))
        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual(14, sum(self.free().values()))

    def count_posts(self):
        """Return a list that collects the answers to POSTs from now on."""
        post = manager.RedeemingReportClient.post
        answers = []

        def answered(client, *args, **kwargs):
            answers.append(post(client, *args, **kwargs))
            return answers[-1]

        self.patch(manager.RedeemingReportClient, 'post', answered)
        return answers

    def test_second_redeem_of_a_member_is_refused(self):
        self.select(*self.request())

        why = self.select_refusal(*self.request())

        self.assertIn('it is ACTIVE', why)
        self.assertEqual(14, sum(self.free().values()))

    def test_member_of_another_project_is_not_found(self):
        self.assertIn(
            'has no member',
            self.select_refusal(*self.request(project_id='other')),
        )

    def test_other_flavor_is_refused_and_the_member_stays_held(self):
        larger = nova_objects.Flavor.get_by_name(self.context, 'm1.small')

        why = self.select_refusal(*self.request(flavor=larger))

        self.assertIn('other resources than its member describes', why)
        self.assertEqual('HELD', self.member('a').status)

    def test_other_zone_is_refused(self):
        why = self.select_refusal(*self.request(availability_zone='az1'))

        self.assertIn('other resources than its member describes', why)

    def test_one_hint_without_the_other_is_refused(self):
        why = self.select_refusal(
            *self.request(scheduler_hints={'vrt_member': ['a']})
        )

        self.assertIn('require both vrt_group and vrt_member', why)

    def test_redeem_of_an_expired_group_is_refused_with_the_time(self):
        """The answer is the same before and after the reaper's round."""
        expired = timeutils.utcnow().replace(microsecond=0)
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.uuid == self.uuid,
            expires_at=expired,
        )
        told = f'its group expired at {expired.isoformat()}Z'

        self.assertIn(
            f'it is HELD: {told}', self.select_refusal(*self.request())
        )
        reaper.expire(self.context)
        why = self.select_refusal(*self.request())
        self.assertIn(f'it is TENTATIVE: {told}', why)

    def test_redeem_begun_before_the_group_expires_succeeds(self):
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

    def test_server_is_refused_on_a_disabled_host(self):
        planned = self.planned_hosts(self.uuid)['a']
        self.disable(planned)

        request = self.request()
        why = self.select_refusal(*request)

        self.assertIn("Nova's filters refuse", why)
        self.assertEqual('HELD', self.member('a').status)
        self.assertIsNone(self.member('a').server_uuid)
        self.assertEqual(14, sum(self.free().values()))

    def test_member_is_redeemed_after_a_refusal_once_the_host_is_enabled(self):
        planned = self.planned_hosts(self.uuid)['a']
        enable = self.disable(planned)
        self.select_refusal(*self.request())

        enable()

        [[selection]] = self.select(*self.request())
        self.assertEqual(planned, selection.service_host)

    def test_concurrent_refusals_of_a_request_leave_one_hold(self):
        planned = self.planned_hosts(self.uuid)['a']
        enable = self.disable(planned)

        for _round in range(3):
            request = self.request()
            with futures.ThreadPoolExecutor(6) as pool:
                tries = [
                    pool.submit(self.select_refusal, *request)
                    for _ in range(6)
                ]
            for each in tries:
                self.assertIn('could not be redeemed', each.result())
            self.assertEqual('HELD', self.member('a').status)
            self.assertEqual(2, len(self.holds_of(self.uuid)))
            self.assertEqual(14, sum(self.free().values()))

        enable()
        self.select(*self.request())

    def test_swap_is_repeated_after_a_failure_of_placement(self):
        self.fail_once(before=True)

        self.select(*self.request())

        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual(14, sum(self.free().values()))

    def test_redeem_without_an_answer_from_placement_is_unknown(self):
        """The next delivery, or the reaper, resolves the redeem."""
        self.patch(redeem, 'TIME_LIMIT', 0)
        request = self.request()
        self.fail_once(before=True, times=3)

        self.assertIn(
            'the state of its hold is unknown', self.select_refusal(*request)
        )

        self.assertEqual('REDEEMING', self.member('a').status)
        self.select(*request)
        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual(14, sum(self.free().values()))

    def test_reaper_finishes_an_unfinished_redeem(self):
        request = self.request()
        self.reserve('a', request[1])
        self.patch(redeem, 'OVERDUE_FACTOR', -1)

        [member] = redeem.list_overdue(self.context)
        reaper.resolve_redeem(self.context, self.placement_client, member)

        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertTrue(self.allocations(request[1]))
        self.assertEqual(14, sum(self.free().values()))

    def test_swap_whose_answer_was_lost_succeeds(self):
        planned = self.planned_hosts(self.uuid)['a']
        self.fail_once(before=False)

        [[selection]] = self.select(*self.request())

        self.assertEqual(planned, selection.service_host)
        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual(14, sum(self.free().values()))

    def fail_once(self, before, times=1):
        """Make the next POST fail, before or after Placement executes it."""
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

    def test_new_server_without_its_hold_gets_free_capacity(self):
        """The capacity of the deleted hold is still free."""
        spec, server, hold = self.robbed()

        self.select(spec, server)

        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual(
            hold.allocations,
            self.placement_client.allocations(self.context, server),
        )

    def robbed(self, outcome=servers.ServerOutcome.CREATING, **known):
        """Delete the hold of a server that is being created, as an admin.

        :param known: other attributes of the servers.Server
        :returns: (request of the server, uuid of the server, hold)
        """
        spec, server = self.request()
        hold = self.reserve('a', server)
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        found = servers.Server(outcome, **known)
        self.patch(servers, 'read', lambda *_args: {server: found})
        return spec, server, hold

    def test_new_server_without_its_hold_and_capacity_fails_its_member(self):
        spec, server, hold = self.robbed()
        self.fill(hold.host, VCPU=self.free()[hold.host])

        self.assertIn('its hold was lost', self.select_refusal(spec, server))

        self.assertEqual('FAILED', self.member('a').status)
        self.assertEqual({}, self.allocations(server))

    def test_moving_server_gets_no_allocation(self):
        """Its allocation may belong to its migration for a while."""
        spec, server, _hold = self.robbed(is_moving=True)

        self.assertIn(
            'the state of its hold is unknown',
            self.select_refusal(spec, server),
        )

        self.assertEqual('REDEEMING', self.member('a').status)
        self.assertEqual({}, self.allocations(server))
        dead = servers.Server(servers.ServerOutcome.DELETED)
        self.patch(servers, 'read', lambda *_args: {server: dead})
        reaper.resolve_redeem(
            self.context, self.placement_client, self.member('a')
        )
        self.assertEqual('FAILED', self.member('a').status)

    def test_server_of_a_failed_build_gets_no_allocation(self):
        spec, server, _hold = self.robbed(servers.ServerOutcome.IN_ERROR)

        self.assertIn('its hold was lost', self.select_refusal(spec, server))

        self.assertEqual('FAILED', self.member('a').status)

    def test_shelved_server_gets_no_allocation(self):
        spec, server, _hold = self.robbed(
            servers.ServerOutcome.LIVE, is_shelved=True
        )

        self.select(spec, server)

        self.assertEqual('ACTIVE', self.member('a').status)
        self.assertEqual({}, self.allocations(server))

    def reserve(self, path, server):
        """Reserve a member for a server; returns the member's hold."""
        member = self.member(path)
        hold = objects.VRTHold.find_by_member(self.context, member.id)
        own = {server: (member, hold)}
        self.assertTrue(redeems.reserve(self.context, own))
        return hold

    def test_redeem_of_a_deleted_hold_fails_the_member(self):
        member = self.member('a')
        hold = objects.VRTHold.find_by_member(self.context, member.id)
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')

        why = self.select_refusal(*self.request())

        self.assertIn('its hold was lost', why)
        self.assertEqual(
            ('FAILED', 'its hold was lost; replan the group'),
            (self.member('a').status, self.member('a').fault),
        )


class TestWorkers(base.StepTestCase):
    def test_each_worker_has_its_own_client_of_placement(self):
        """Workers are forked from the process that has tried Placement."""
        clients = []
        usual = manager.RedeemingReportClient

        def make():
            clients.append(usual())
            return clients[-1]

        self.patch(manager, 'RedeemingReportClient', make)

        scheduler = manager.HolisticSchedulerManager()

        [tried] = clients
        own = scheduler.placement_client
        self.assertIsNot(tried, own)
        self.assertIs(own, scheduler.placement_client)


class TestSeveral(redeem_requests.RedeemTestCase):
    """Concurrent requests for a group with two equal members."""

    TOPOLOGY = {'members': {'a': base.member(count=2)}}

    def test_concurrent_deliveries_with_a_replaced_host_redeem_once(self):
        request = self.request(described_path='a-0', hinted_path='a-0')
        planned = self.planned_hosts(self.uuid)['a-0']
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

    def test_capacity_taken_back_for_a_deleted_group_is_released(self):
        """The group is deleted during the take-back."""
        spec, server = self.request('a-0', described_path='a-0')
        self.select(spec, server)
        member = self.member('a-0')
        hold = objects.VRTHold.find_by_member(self.context, member.id)
        group = objects.VRTGroup.get(self.context, self.uuid)

        def delete(point):
            if point == 'before swap.commit':
                faultpoints.handler = None
                self.api().delete(f'{base.GROUPS}/{self.uuid}')

        self.addCleanup(setattr, faultpoints, 'handler', None)
        faultpoints.handler = delete

        with self.leases.owning(
            self.context, self.placement_client, group.id
        ) as lease:
            take_back.take_back(
                self.context, self.placement_client, lease, hold
            )
        # The planner that got the deletion may have found the group leased.
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
