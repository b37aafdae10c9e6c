# SPDX-License-Identifier: Apache-2.0
"""Revisions of groups, by a running planner or step by step."""

import dataclasses
import datetime

import fixtures
from oslo_utils import timeutils

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.protocol import release_holds
from tests import rounds
from tests.functional import base


class RevisingTestCase(base.GroupTestCase):
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=4),
        hosts.Host('cmp-2', 'r2', 'az1', vcpus=4),
    )

    def put(self, uuid, topology, generation=None, **group):
        """PUT a definition; returns the response."""
        if generation is None:
            generation = self.group(uuid)['generation']
        body = {'generation': generation, 'topology': topology, **group}
        return self.api().put(
            f'{base.GROUPS}/{uuid}', json={'vrt_group': body}
        )

    def put_and_wait(self, uuid, topology, **group):
        """PUT a definition, and return the group once it is decided."""
        response = self.put(uuid, topology, **group)
        self.assertEqual(202, response.status_code, response.text)
        return self.eventually(self.group, is_decided, uuid)

    def put_revision(self, uuid, topology, **group):
        """PUT a definition, and expect that it becomes the group's."""
        now = self.put_and_wait(uuid, topology, **group)
        self.assertIsNone(now['revision'], now['revision'])
        return now

    def member_statuses(self, group):
        return {each['path']: each['status'] for each in group['members']}

    def held_hosts(self, uuid):
        """Return {uuid: host} of the group's holds in HELD."""
        return {
            hold.uuid: hold.host
            for hold in self.holds_of(uuid)
            if hold.status == 'HELD'
        }

    def assertRefused(self, code, reason, response):
        self.assertEqual(code, response.status_code, response.text)
        [fault] = response.json().values()
        self.assertIn(reason, fault['message'])


def is_decided(group):
    revision = group['revision']
    return revision is None or revision['status'] != 'PLANNING'


class ProcessKilled(BaseException):
    """The end of a killed process, which no ``except Exception`` catches."""


class PlanningTestCase(RevisingTestCase, base.StepTestCase):
    """A cloud without planner services; the test runs its own planner."""

    PARTS = dataclasses.replace(base.WITHOUT_REAPER, services=())

    def setUp(self):
        super().setUp()
        self.planner = planner.Planner('another')
        # Only the test sends requests, so that no late one has to be awaited.
        self.patch(release_holds, 'REQUEST_LIFETIME', 0)

    def plan(self, uuid):
        """Plan a group that is new, or that a dead planner has left."""
        self.planner.beat(self.context)
        self.planner.serve_group(self.context, uuid)

    def reap(self):
        rounds.reap(self.planner, self.context)

    def draft_of(self, uuid):
        """Return the uuid of a group's draft."""
        group = objects.VRTGroup.get(self.context, uuid)
        [draft] = objects.VRTGroup.drafts_by_group(
            self.context, [group.id]
        ).values()
        return draft.uuid

    def put_draft(self, uuid, topology):
        """PUT a definition; returns the uuid of the draft."""
        self.assertEqual(202, self.put(uuid, topology).status_code)
        return self.draft_of(uuid)

    def delete_and_check(self, uuid):
        """Delete a group, and expect that all of its capacity is free."""
        self.api().delete(f'{base.GROUPS}/{uuid}')
        for _round in range(3):
            self.reap()
        self.assertEqual(
            {host.name: host.vcpus for host in self.HOSTS}, self.free()
        )
        self.assertEqual([], objects.VRTGroup.list_releasing(self.context))

    def kill_at(self, point, uuid):
        """Plan a group, and die when a fault point is reached."""

        def handler(reached):
            if reached == point:
                raise ProcessKilled

        with fixtures.MonkeyPatch(
            'nova_groupext.faultpoints.handler', handler
        ):
            self.assertRaises(ProcessKilled, self.plan, uuid)

    def make_draft_old(self, draft):
        """Set the times of a draft, and of all rows in WRITING, far back."""
        then = timeutils.utcnow() - datetime.timedelta(hours=1)
        self.change_row(draft, created_at=then, updated_at=then)
        written = models.Hold.status == states.Hold.WRITING
        db.compare_and_set(self.context, models.Hold, written, created_at=then)

    def audit(self):
        return audit.audit(self.context, self.placement_client)
