# SPDX-License-Identifier: Apache-2.0
"""The follow step for groups whose servers, holds or hosts change."""

import fixtures
from oslo_db import exception as db_exc

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.conf import CONF
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.reap import reaper
from tests.functional import base

FREE = {'cmp-1': 8, 'cmp-2': 8, 'cmp-3': 8}
ONE_HELD = {**FREE, 'cmp-1': 7}


class FollowTestCase(base.StepTestCase):
    # Each zone has one host, so that a member's zone implies its host.
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r2', 'az2', vcpus=8),
        hosts.Host('cmp-3', 'r3', 'az3', vcpus=8),
    )

    def follow(self):
        for step in (
            server_changes.follow_servers,
            hold_changes.follow_holds,
            hold_changes.follow_hosts,
        ):
            step(self.context, self.placement_client, self.leases)
        reaper.release_ending(self.context, self.placement_client)

    def hold_one(self):
        """Describe and hold member ``a`` on cmp-1; returns the group's id."""
        return self.hold_group({'members': {'a': in_zone('az1')}})['id']

    def create_member(self, uuid):
        return self.create(
            scheduler_hints=base.member_hints(uuid, 'a'),
            availability_zone='az1',
        )

    def enable_rehold(self):
        CONF.set_override('rehold_after_server_end', True, 'vrt')
        self.addCleanup(CONF.clear_override, 'rehold_after_server_end', 'vrt')

    def member_outcomes(self, uuid):
        """Return {path: (status, fault)} of the members."""
        return {
            each['path']: (
                each['status'],
                each['fault'] and each['fault']['message'],
            )
            for each in self.group(uuid)['members']
        }

    def hold_of(self, uuid, path='a'):
        member = objects.VRTMember.get_by_path(
            self.context,
            uuid,
            path,
            project_id=self.cloud.sdk('demo').current_project_id,
        )
        return objects.VRTHold.find_by_member(self.context, member.id)

    def assert_outcome(self, uuid, outcome, free):
        """Check member ``a``, and that following again changes nothing."""
        for _round in range(2):
            self.assertEqual({'a': outcome}, self.member_outcomes(uuid))
            self.assertEqual(free, self.free())
            self.follow()

    def assert_reheld(self, uuid):
        self.assert_outcome(uuid, ('HELD', None), ONE_HELD)
        self.assertEqual('HELD', self.group(uuid)['status'])
        self.assertEqual(
            'ACTIVE',
            self.redeem(uuid, 'a', 'm1.tiny', availability_zone='az1').status,
        )
        self.assertEqual(ONE_HELD, self.free())


def in_zone(zone, **more):
    return base.member(availability_zone=zone, **more)


def fail_nova_query(kind, method):
    """Return a fixture that makes a query of Nova's database fail."""

    def fail(*_args, **_kwargs):
        raise db_exc.DBConnectionError

    return fixtures.MockPatchObject(kind, method, fail)
