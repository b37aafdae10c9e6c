# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/serve.py``."""

import dataclasses

import fixtures
from keystoneauth1 import exceptions as ks_exc
from nova import exception as nova_exc
from openstack import exceptions as sdk_exc
from oslo_db import exception as db_exc
from oslo_limit import exception as limit_exc
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import drafts
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.lease import VRTLease
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler import serve
from nova_groupext.solver.model import time_budget
from tests import groups
from tests.services import deployment
from tests.services import doubles
from tests.unit.scheduler import base

Outcome = rpcapi.Outcome


class ServeTestCase(base.ProtocolTestCase):
    """Planners with slots of their own.

    :ivar planned: uuids of the groups that a planner has looked at, in order
    """

    def setUp(self):
        super().setUp()
        self.set_option('max_concurrent_plans', 2)
        self.planned = []

    def server(self, wishes=doubles.describe_hosts, **tools):
        """Return the GroupServer of another planner.

        :param tools: functions that replace those of FixedPlan
        """
        usual = doubles.FixedPlan(wishes)(self.deployment.placement_client())

        def look(context, group, *args, **kwargs):
            self.planned.append(group.uuid)
            return usual.look(context, group, *args, **kwargs)

        own = dataclasses.replace(usual, **{'look': look, **tools})
        return serve.GroupServer(self.deployment.leases(), lambda: own)

    def serve(self, uuid, **options):
        self.server(**options).serve(self.context, self.deployment.group(uuid))
        return self.deployment.find_group(uuid)

    def failing(self, error):
        """Return a tool that raises an error."""

        def fail(*_args, **_kwargs):
            raise error

        return fail

    def events(self, uuid):
        """Return the VRTEvents of a group, the newest first."""
        group = self.deployment.group(uuid)
        return VRTEvent.by_group(self.context, [group.id])[group.id]

    def leases(self):
        return VRTLease.count_by_owner(self.context)


class TestServe(ServeTestCase):
    """A group that waits to be planned."""

    def setUp(self):
        super().setUp()
        self.provider = self.deployment.make_provider(2)
        self.uuid = self.deployment.describe(2 * [self.provider])

    def test_group_is_planned_under_its_lease(self):
        self.assertEqual('HELD', self.serve(self.uuid).status)

        self.assertEqual({}, self.leases())
        self.assert_at_rest()

    def test_group_of_another_planner_is_not_served(self):
        lease = self.acquire_lease(self.uuid)

        self.assertEqual('PLANNING', self.serve(self.uuid).status)

        self.assertEqual([], self.planned)
        self.assertFalse(lease.release(self.context))

    def test_planner_that_is_asked_meanwhile_serves_once_more(self):
        """The second member is released while the first one is emptied."""
        self.serve(self.uuid)
        self.deployment.request_release(self.uuid, 'm-0')

        def ask():
            self.deployment.request_release(self.uuid, 'm-1')
            self.serve(self.uuid)

        self.call_at('after release.post', ask)
        self.serve(self.uuid)

        self.assertEqual(0, self.used(self.provider))
        self.assertEqual({}, self.leases())

    def test_group_without_a_slot_keeps_waiting(self):
        server = self.server()
        with server._slots.take('project'):
            server.serve(self.context, self.deployment.group(self.uuid))
        self.assertEqual([], self.planned)

        server.serve_waiting(self.context)

        self.assertEqual('HELD', self.deployment.group(self.uuid).status)

    def test_waiting_create_gets_the_extra_slot_in_a_later_round(self):
        uuid, _provider = self.held()
        self.deployment.start_create(uuid, 'm-0', uuidutils.generate_uuid())
        server = self.server()

        with server._slots.take('project'):
            server.serve_waiting(self.context)

        [create] = VRTCreate.list_rows(self.context)
        self.assertEqual(states.Create.PLACED, create.status)

    def test_released_holds_need_no_slot(self):
        uuid, provider = self.held()
        self.deployment.request_release(uuid)
        server = self.server()

        with server._slots.take('project'):
            server.serve(self.context, self.deployment.group(uuid))

        self.assertEqual(0, self.used(provider))

    def test_plan_beyond_the_quota_is_an_error_of_the_group(self):
        error = exception.LimitExceeded(reason='too many cores')

        group = self.serve(self.uuid, look=self.failing(error))

        self.assertEqual(
            ('ERROR', 'too many cores'), (group.status, group.fault)
        )

    def test_revision_beyond_the_quota_is_an_event_of_its_group(self):
        uuid, provider = self.held()
        draft = self.deployment.revise(uuid, {'m-0': provider})
        error = exception.LimitExceeded(reason='too many cores')

        self.serve(uuid, look=self.failing(error))

        self.assertEqual('ERROR', self.deployment.group(draft).status)
        event = self.events(uuid)[0]
        self.assertEqual(
            ('revision_error', 'too many cores'), (event.name, event.message)
        )
        self.assertEqual([], self.events(draft))

    def test_draft_for_creates_is_not_planned_without_its_creates(self):
        """Its planner has died; servers that still wait are decided anew."""
        uuid, _provider = self.held()
        draft = drafts.replacement_of(self.deployment.group(uuid), {'m-0': []})
        draft.is_for_creates = True
        drafts.store(self.context, self.deployment.group(uuid), draft)

        self.serve(uuid)

        self.assertEqual([], self.planned)
        self.assertEqual('RELEASING', self.deployment.group(draft.uuid).status)

    def test_unexpected_error_names_the_request_only(self):
        group = self.serve(self.uuid, look=self.failing(ValueError('secret')))

        self.assertEqual('ERROR', group.status)
        self.assertIn(self.context.request_id, group.fault)
        self.assertNotIn('secret', group.fault)

    def test_group_waits_while_placement_is_silent(self):
        error = exception.PlacementUnavailable(reason='a test')

        group = self.serve(self.uuid, look=self.failing(error))

        self.assertEqual(
            ('PLANNING', serve.PLACEMENT_SILENT), (group.status, group.fault)
        )

    def test_group_waits_while_its_quota_cannot_be_read(self):
        for error in (
            nova_exc.UsagesRetrievalFailed(project_id='p', user_id='u'),
            ks_exc.ConnectFailure('keystone'),
            limit_exc.SessionInitError('keystone'),
            sdk_exc.SDKException('keystone'),
        ):
            with fixtures.MockPatchObject(quota, 'check', self.failing(error)):
                group = self.serve(self.uuid)

            self.assertEqual(
                ('PLANNING', serve.QUOTA_SILENT), (group.status, group.fault)
            )

    def test_group_waits_while_the_database_is_silent(self):
        error = db_exc.DBConnectionError()

        group = self.serve(self.uuid, look=self.failing(error))

        self.assertEqual(('PLANNING', None), (group.status, group.fault))

    def test_plan_of_a_group_that_changed_meanwhile_is_dropped(self):
        def delete(*_args):
            self.deployment.mark_deleted(self.uuid)
            return set()

        self.assertIsNone(self.serve(self.uuid, rehearse=delete))

        self.assertEqual(0, self.used(self.provider))

    def test_plan_of_a_purged_group_is_dropped_without_an_error(self):
        def purge(*_args):
            self.sleep(deployment.LATER)
            self.deployment.delete(self.uuid)
            return set()

        log = self.useFixture(fixtures.FakeLogger())

        self.assertIsNone(self.serve(self.uuid, rehearse=purge))

        self.assertNotIn('could not be planned', log.output)
        self.assertEqual({}, self.deployment.row_counts())

    def test_planner_that_lost_the_lease_holds_nothing(self):
        def lose(*_args):
            self.take_over(self.uuid)
            return set()

        group = self.serve(self.uuid, rehearse=lose)

        self.assertEqual('PLANNING', group.status)
        self.assertEqual([], self.hold_statuses(self.uuid))
        self.assertEqual([], self.posts)

    def test_error_after_an_applied_swap_is_no_error_of_the_group(self):
        first, second = (
            self.deployment.make_provider(1) for _each in range(2)
        )
        uuid = self.deployment.hold_group([first, second])
        new = {'m-0': second, 'm-1': first}
        self.deployment.revise(uuid, new)
        self.call_at('after swap.apply', self.failing(ValueError()))
        log = self.useFixture(fixtures.FakeLogger())

        group = self.serve(uuid)

        self.assertNotIn('is ERROR', log.output)

        self.assertEqual(('HELD', None), (group.status, group.fault))
        self.assertEqual(new, self.deployment.held_providers(uuid))


class TestServeWaiting(ServeTestCase):
    def wait(self, project):
        """Store a group of a project that waits to be planned."""
        uuid = self.deployment.describe([self.deployment.make_provider(1)])
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.uuid == uuid,
            project_id=project,
        )
        return uuid

    def test_projects_take_turns(self):
        first, second, other = map(self.wait, 'aab')

        self.server().serve_waiting(self.context)

        self.assertEqual([first, other, second], self.planned)

    def test_error_of_one_group_does_not_stop_the_others(self):
        first, second = map(self.wait, 'ab')

        def look(context, group, *_args, **_kwargs):
            self.planned.append(group.uuid)
            raise db_exc.DBConnectionError

        self.server(look=look).serve_waiting(self.context)

        self.assertEqual([first, second], self.planned)

    def test_unfinished_swap_of_an_abandoned_group_is_finished(self):
        uuid, provider = self.held(slots=1)
        hold = self.deployment.hold(uuid, 'm-0')
        self.deployment.delete_allocations(hold.uuid)
        self.kill_at('after swap.apply', self.deployment.reap, 0)
        self.sleep(deployment.LATER)

        self.server().serve_waiting(self.context)

        self.assertEqual(['HELD'], self.hold_statuses(uuid)[1:])
        self.assertEqual(2, self.used(provider))

    def test_dead_planners_group_is_planned(self):
        uuid = self.wait('a')
        self.kill_at('after hold.post', self.serve, uuid)
        self.server().serve_waiting(self.context)
        self.assertEqual('PLANNING', self.deployment.group(uuid).status)
        self.sleep(deployment.LATER)

        self.server().serve_waiting(self.context)

        self.assertEqual('HELD', self.deployment.group(uuid).status)


class TestReplaceMembers(ServeTestCase):
    """A held member whose host is refused; there is one other host."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(slots=1)
        self.other = self.deployment.make_provider(1)

    def replace(self, server=None, uuid=None, nodes=None):
        return (server or self.server(self.wish)).replace_members(
            *(self.context, uuid or self.uuid),
            {'m-0': [self.provider] if nodes is None else nodes},
            time_budget.TimeBudget(10),
        )

    def wish(self, _group, _current):
        return lambda _member: groups.placement(
            self.other, deployment.MEMBER_VCPUS
        )

    def test_member_moves_to_the_other_host(self):
        self.assertEqual(Outcome.DONE, self.replace())

        self.assertEqual(
            {'m-0': self.other}, self.deployment.held_providers(self.uuid)
        )
        self.assertEqual(0, self.used(self.provider))
        self.assert_at_rest()

    def test_member_without_another_host_stays_held(self):
        outcome = self.replace(self.server())

        self.assertEqual(Outcome.NO_OTHER_HOST, outcome)
        self.assertEqual({'m-0': 'HELD'}, self.statuses(self.uuid))
        self.assertEqual(2, self.used(self.provider))

    def test_member_on_another_host_is_done(self):
        self.assertEqual(Outcome.DONE, self.replace(nodes=['elsewhere']))

        self.assertEqual([], self.planned)

    def test_missing_group_is_done(self):
        self.assertEqual(Outcome.DONE, self.replace(uuid=self.other))

    def test_leased_group_is_busy(self):
        self.acquire_lease(self.uuid)

        self.assertEqual(Outcome.BUSY, self.replace())

    def test_planner_without_a_slot_is_busy(self):
        server = self.server(self.wish)
        with server._slots.take('project'):
            self.assertEqual(Outcome.BUSY, self.replace(server))

    def test_group_that_is_being_revised_is_busy(self):
        self.deployment.revise(self.uuid, {'m-0': self.other})

        self.assertEqual(Outcome.BUSY, self.replace())
