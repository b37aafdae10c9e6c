# SPDX-License-Identifier: Apache-2.0
"""Groups that take another definition, at once or step by step."""

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
        """PUT a definition; returns the response as it comes."""
        if generation is None:
            generation = self.group(uuid)['generation']
        body = {'generation': generation, 'topology': topology, **group}
        return self.api().put(
            f'{base.GROUPS}/{uuid}', json={'vrt_group': body}
        )

    def decided(self, uuid, topology, **group):
        """PUT a definition, and return the group once that is decided."""
        response = self.put(uuid, topology, **group)
        self.assertEqual(202, response.status_code, response.text)
        return self.eventually(self.group, is_decided, uuid)

    def revised(self, uuid, topology, **group):
        """PUT a definition that has to become the group's."""
        now = self.decided(uuid, topology, **group)
        self.assertIsNone(now['revision'], now['revision'])
        return now

    def states(self, group):
        return {each['path']: each['status'] for each in group['members']}

    def held_on(self, uuid):
        """Return {hold's uuid: host} of what is held."""
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


class Died(BaseException):
    """As a process that is killed, it is caught by nobody."""


class PlanningTestCase(RevisingTestCase, base.StepTestCase):
    """There is no planner but the test's own."""

    PARTS = dataclasses.replace(base.WITHOUT_REAPER, services=())

    def setUp(self):
        super().setUp()
        self.planner = planner.Planner('another')
        # Nobody but the test sends requests: none is on its way for long.
        self.patch(release_holds, 'REQUEST_LIFETIME', 0)

    def plan(self, uuid):
        """Plan what is described, or was left by who has died."""
        self.planner.beat(self.context)
        self.planner.serve_group(self.context, uuid)

    def reap(self):
        rounds.reap(self.planner, self.context)

    def draft_of(self, uuid):
        """Return the uuid of a group's draft."""
        group = objects.VRTGroup.get(self.context, uuid)
        [draft] = objects.VRTGroup.drafts_of(self.context, [group.id]).values()
        return draft.uuid

    def drafted(self, uuid, topology):
        """PUT a definition; returns the uuid of the draft."""
        self.assertEqual(202, self.put(uuid, topology).status_code)
        return self.draft_of(uuid)

    def forget(self, uuid):
        """Delete a group and let all of it go."""
        self.api().delete(f'{base.GROUPS}/{uuid}')
        for _round in range(3):
            self.reap()
        self.assertEqual(
            {host.name: host.vcpus for host in self.HOSTS}, self.free()
        )
        self.assertEqual([], objects.VRTGroup.list_releasing(self.context))

    def die_at(self, point, uuid):
        """Plan, and die at a point when it is reached."""

        def trap(reached):
            if reached == point:
                raise Died

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.trap', trap):
            self.assertRaises(Died, self.plan, uuid)

    def age(self, draft):
        """Set the times of a draft, and of all rows in WRITING, far back."""
        then = timeutils.utcnow() - datetime.timedelta(hours=1)
        self.change_row(draft, created_at=then, updated_at=then)
        written = models.Hold.status == states.Hold.WRITING
        db.compare_and_set(self.context, models.Hold, written, created_at=then)

    def audit(self):
        return audit.audit(self.context, self.ledger)
