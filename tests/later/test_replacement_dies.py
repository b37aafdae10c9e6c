# SPDX-License-Identifier: Apache-2.0
"""Planners and schedulers that die during the replacement of a member."""

import dataclasses

import fixtures
from nova import exception as nova_exc
import oslo_messaging as messaging

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.scheduler import manager
from nova_groupext.scheduler import planner
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.protocol import release_holds
from tests import rounds
from tests.functional import base
from tests.functional import redeem_requests

ASK = rpcapi.PlannerAPI.replace_members


class ProcessKilled(BaseException):
    """The end of a killed process, which no ``except Exception`` catches.

    Cleanup code raises it as well, at its next fault point.
    """


class TestDying(redeem_requests.RedeemTestCase):
    """A test that runs the only planner and scheduler in its process."""

    PARTS = dataclasses.replace(base.WITHOUT_REAPER, services=())

    def setUp(self):
        self.planner = planner.Planner('another')
        super().setUp()
        self.scheduler = manager.HolisticSchedulerManager()
        # Only the test sends requests, so that no late one has to be awaited.
        self.patch(release_holds, 'REQUEST_LIFETIME', 0)
        self.patch(rpcapi.PlannerAPI, 'replace_members', self.replan)
        self.planned_at_first = self.planned_hosts(self.uuid)['a']

    def hold_group(self, topology):
        uuid = self.post(topology=topology).json()['vrt_group']['id']
        self.planner.serve_group(self.context, uuid)
        return self.group(uuid)

    def delete_group(self, uuid, user='demo'):
        """Delete a group with the test's own planner."""
        self.api().delete(f'{base.GROUPS}/{uuid}')
        for _round in range(3):
            rounds.reap(self.planner, self.context)
        self.assertEqual([], self.holds_of(uuid))

    def replan(self, context, *args):
        return self.planner.replace_members(context, *args)

    def select(self, spec, server_uuid):
        """Call the scheduler without a message queue."""
        try:
            return self.scheduler.select_destinations(
                self.context,
                spec_obj=spec,
                instance_uuids=[server_uuid],
                return_objects=True,
            )
        except messaging.ExpectedException as exc:
            raise exc.exc_info[1] from exc

    def die(self, point):
        """Redeem member ``a``, and die at a fault point."""

        def handler(reached):
            if reached == point:
                raise ProcessKilled

        with fixtures.MonkeyPatch(
            'nova_groupext.faultpoints.handler', handler
        ):
            self.assertRaises(ProcessKilled, self.select, *self.request())

    def let_leases_run_out(self):
        """End all leases, which dead processes still have."""
        db.compare_and_set(self.context, models.Lease, ends_at=clock.now(-1))

    def assert_whole(self):
        """Expect that no hold is lost, and finish the draft, if any."""
        self.let_leases_run_out()
        for draft in objects.VRTGroup.drafts_by_group(
            self.context, [self.member('a').group_id]
        ).values():
            self.assertEqual(states.Group.PLANNING, draft.status)
            self.planner.serve_group(self.context, draft.uuid)
        rounds.reap(self.planner, self.context)
        self.assertEqual('HELD', self.member('a').status)
        self.assertEqual('HELD', self.member('b').status)
        self.assertEqual([], audit.audit(self.context, self.placement_client))
        self.assertIsNone(self.group(self.uuid)['revision'])
        self.assertEqual(14, sum(self.free().values()))

    def test_death_of_the_planner_keeps_the_holds(self):
        enable = self.disable(self.planned_at_first)

        self.die('after hold.post')

        enable()
        self.assert_whole()
        [[selection]] = self.select(*self.request())
        self.assertEqual(
            self.planned_hosts(self.uuid)['a'], selection.service_host
        )

    def test_death_of_the_scheduler_keeps_the_replacement(self):
        self.disable(self.planned_at_first)

        # Nothing is reserved on the host that is disabled.
        self.die('before redeem.reserve')

        self.assertNotEqual(
            self.planned_at_first, self.planned_hosts(self.uuid)['a']
        )
        [[selection]] = self.select(*self.request())
        self.assertEqual(
            self.planned_hosts(self.uuid)['a'], selection.service_host
        )

    def test_redeem_without_a_planner_fails_and_the_member_stays_held(self):
        self.patch(rpcapi.PlannerAPI, 'replace_members', ASK)
        self.set_option('redeem_replacement_time_limit', 1)
        self.disable(self.planned_at_first)

        why = self.select_refusal(*self.request())

        self.assertIn('no planner found another host in time', why)
        self.assert_stays()

    def test_redeem_during_a_replan_fails_and_leaves_the_replan(self):
        """The replan takes longer than the server's request may wait."""
        self.set_option('redeem_replacement_time_limit', 1)
        self.disable(self.planned_at_first)
        self.act(self.uuid, 'replan')
        [draft] = objects.VRTGroup.drafts_by_group(
            self.context, [self.member('a').group_id]
        ).values()

        self.assertIn('were busy', self.select_refusal(*self.request()))
        self.assert_stays()
        self.planner.serve_group(self.context, draft.uuid)

        [[selection]] = self.select(*self.request())
        self.assertNotEqual(self.planned_at_first, selection.service_host)

    def assert_stays(self):
        self.assertEqual('HELD', self.member('a').status)
        self.assertEqual(
            self.planned_at_first, self.planned_hosts(self.uuid)['a']
        )
        self.assertEqual([], audit.audit(self.context, self.placement_client))

    def test_group_deleted_during_a_replacement_leaves_no_draft(self):
        """No draft of the group may be left unplanned."""
        self.disable(self.planned_at_first)

        def replan(_api, *args):
            self.api().delete(f'{base.GROUPS}/{self.uuid}')
            return self.replan(*args)

        self.patch(rpcapi.PlannerAPI, 'replace_members', replan)

        why = self.select_refusal(*self.request())

        self.assertIn('has no member', why)
        for _round in range(2):
            rounds.reap(self.planner, self.context)
        self.assertEqual([], objects.VRTGroup.list_releasing(self.context))

    def test_member_released_during_a_replacement_is_not_held(self):
        """The release comes between the hold and its commit."""
        enable = self.disable(self.planned_at_first)

        def handler(point):
            if point == 'before revise.commit':
                self.act(self.uuid, 'release', {'members': ['a']})

        with fixtures.MonkeyPatch(
            'nova_groupext.faultpoints.handler', handler
        ):
            error = self.assertRaises(
                nova_exc.NoValidHost, self.select, *self.request()
            )

        self.assertIn('it is RELEASED', str(error))
        enable()
        rounds.reap(self.planner, self.context)
        self.assertEqual('RELEASED', self.member('a').status)
        self.assertEqual(15, sum(self.free().values()))
