# SPDX-License-Identifier: Apache-2.0
"""A planner or a scheduler dies while a server waits for another place."""

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
from tests.functional import door

ASK = rpcapi.PlannerAPI.replan


class Died(BaseException):
    """As a process that is killed, it is caught by nobody.

    Whoever cleans up dies of it as well, at the next point.
    """


class TestDying(door.DoorCase):
    """The test is planner and scheduler in one: it knows who is alive."""

    PARTS = dataclasses.replace(base.WITHOUT_REAPER, services=())

    def setUp(self):
        self.planner = planner.Planner('another')
        super().setUp()
        self.scheduler = manager.HolisticSchedulerManager()
        # Nobody but the test sends requests: none is on its way for long.
        self.patch(release_holds, 'REQUEST_LIFETIME', 0)
        self.patch(rpcapi.PlannerAPI, 'replan', self.replan)
        self.planned_at_first = self.planned(self.uuid)['a']

    def held(self, topology):
        uuid = self.post(topology=topology).json()['vrt_group']['id']
        self.planner.serve_group(self.context, uuid)
        return self.group(uuid)

    def delete_group(self, uuid, user='demo'):
        """There is no planner to do it but the test's own."""
        self.api().delete(f'{base.GROUPS}/{uuid}')
        for _round in range(3):
            rounds.reap(self.planner, self.context)
        self.assertEqual([], self.holds_of(uuid))

    def replan(self, context, *args):
        return self.planner.replan(context, *args)

    def select(self, spec, server_uuid):
        """Ask the scheduler, without a queue in between."""
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
        """Redeem member ``a``, and die when a point is reached."""

        def trap(reached):
            if reached == point:
                raise Died

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.trap', trap):
            self.assertRaises(Died, self.select, *self.request())

    def let_leases_run_out(self):
        """Who is dead holds on to its groups until then."""
        db.compare_and_set(self.context, models.Lease, ends_at=clock.now(-1))

    def assert_whole(self):
        """Nobody has lost anything, and the member can be redeemed."""
        self.let_leases_run_out()
        for draft in objects.VRTGroup.drafts_of(
            self.context, [self.member('a').group_id]
        ).values():
            self.assertEqual(states.Group.PLANNING, draft.status)
            self.planner.serve_group(self.context, draft.uuid)
        rounds.reap(self.planner, self.context)
        self.assertEqual('HELD', self.member('a').status)
        self.assertEqual('HELD', self.member('b').status)
        self.assertEqual([], audit.audit(self.context, self.ledger))
        self.assertIsNone(self.group(self.uuid)['revision'])
        self.assertEqual(14, sum(self.free().values()))

    def test_the_planner(self):
        enable = self.disable(self.planned_at_first)

        self.die('after hold.post')

        enable()
        self.assert_whole()
        [[selection]] = self.select(*self.request())
        self.assertEqual(self.planned(self.uuid)['a'], selection.service_host)

    def test_the_scheduler_once_there_is_another_place(self):
        self.disable(self.planned_at_first)

        # Nothing is reserved on the host that is disabled.
        self.die('before redeem.reserve')

        self.assertNotEqual(
            self.planned_at_first, self.planned(self.uuid)['a']
        )
        [[selection]] = self.select(*self.request())
        self.assertEqual(self.planned(self.uuid)['a'], selection.service_host)

    def test_no_planner_lives(self):
        self.patch(rpcapi.PlannerAPI, 'replan', ASK)
        self.override('redeem_replacement_time_limit', 1)
        self.disable(self.planned_at_first)

        why = self.refusal(*self.request())

        self.assertIn('no planner found another place in time', why)
        self.assert_stays()

    def test_its_owner_has_it_planned_meanwhile(self):
        """As that takes longer than a server waits, all is left to it."""
        self.override('redeem_replacement_time_limit', 1)
        self.disable(self.planned_at_first)
        self.act(self.uuid, 'replan')
        [draft] = objects.VRTGroup.drafts_of(
            self.context, [self.member('a').group_id]
        ).values()

        self.assertIn('were busy', self.refusal(*self.request()))
        self.assert_stays()
        self.planner.serve_group(self.context, draft.uuid)

        [[selection]] = self.select(*self.request())
        self.assertNotEqual(self.planned_at_first, selection.service_host)

    def assert_stays(self):
        self.assertEqual('HELD', self.member('a').status)
        self.assertEqual(self.planned_at_first, self.planned(self.uuid)['a'])
        self.assertEqual([], audit.audit(self.context, self.ledger))

    def test_its_owner_deletes_the_group_meanwhile(self):
        """No draft may be left of it, that nobody would ever plan."""
        self.disable(self.planned_at_first)

        def replan(_api, *args):
            self.api().delete(f'{base.GROUPS}/{self.uuid}')
            return self.replan(*args)

        self.patch(rpcapi.PlannerAPI, 'replan', replan)

        why = self.refusal(*self.request())

        self.assertIn('has no member', why)
        for _round in range(2):
            rounds.reap(self.planner, self.context)
        self.assertEqual([], objects.VRTGroup.list_releasing(self.context))

    def test_nobody_is_held_whom_his_owner_releases_meanwhile(self):
        """As late as between what is held for him, and its promise."""
        enable = self.disable(self.planned_at_first)

        def trap(point):
            if point == 'before revise.commit':
                self.act(self.uuid, 'release', {'members': ['a']})

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.trap', trap):
            error = self.assertRaises(
                nova_exc.NoValidHost, self.select, *self.request()
            )

        self.assertIn('it is RELEASED', str(error))
        enable()
        rounds.reap(self.planner, self.context)
        self.assertEqual('RELEASED', self.member('a').status)
        self.assertEqual(15, sum(self.free().values()))
