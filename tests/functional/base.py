# SPDX-License-Identifier: Apache-2.0
"""Groups on a try-out cloud that has nova_groupext enabled."""

import dataclasses

import fixtures
from keystoneauth1 import adapter
from nova import context
from nova import exception as nova_exc
from nova.conductor import manager as conductor
from nova.scheduler.client import report
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.cloud import accounts
from nova_groupext.cloud import image
from nova_groupext.cloud import with_groups
from nova_groupext.db import api as db
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.protocol import leases
from tests.functional import foreign_consumers
from tests.functional.cloud import base

GROUPS = '/os-vrt-groups'

WITHOUT_REAPER = dataclasses.replace(
    with_groups.HOLISTIC,
    config=f'{with_groups.HOLISTIC.config}\nreap_interval = 3600\n'
    'exclusive_reap_interval = 3600\nheartbeat_interval = 3600\n',
)


class GroupTestCase(base.CloudTestCase):
    """Describes groups and redeems their members over real HTTP."""

    PARTS = with_groups.HOLISTIC

    def setUp(self):
        super().setUp()
        self.context = context.get_admin_context()
        self.leases = leases.Leases('another')

    def api(self, user='demo'):
        """The compute API; error answers are returned, not raised."""
        return adapter.Adapter(
            self.cloud.session(user),
            service_type='compute',
            default_microversion='2.96',
            raise_exc=False,
        )

    def post(self, user='demo', **group):
        """POST a group; returns the response as it comes."""
        body = {'vrt_group': {'name': self.id()[-60:], **group}}
        response = self.api(user).post(GROUPS, json=body)
        if response.status_code == 202:
            uuid = response.json()['vrt_group']['id']
            self.addCleanup(self.delete_group, uuid, user)
        return response

    def describe(self, topology, user='demo', **group):
        """POST a group and wait until it was decided; returns the group."""
        response = self.post(user, topology=topology, **group)
        self.assertEqual(202, response.status_code, response.text)
        uuid = response.json()['vrt_group']['id']
        described = self.eventually(
            self.group, lambda now: now['status'] != 'PLANNING', uuid, user
        )
        self.wait_for_lease_end(uuid)
        return described

    def wait_for_lease_end(self, uuid):
        """Wait until no planner is at work on a group.

        It lays its work down a little after the group was decided.
        """
        group = objects.VRTGroup.get(self.context, uuid)
        self.eventually(
            objects.VRTLease.leased_groups,
            lambda busy: group.id not in busy,
            self.context,
        )

    def hold_group(self, topology, **group):
        """Describe a group that has to be held."""
        described = self.describe(topology, **group)
        self.assertEqual('HELD', described['status'], described)
        return described

    def group(self, uuid, user='demo'):
        response = self.api(user).get(f'{GROUPS}/{uuid}')
        self.assertEqual(200, response.status_code, response.text)
        return response.json()['vrt_group']

    def act(self, uuid, action, body=None, user='demo'):
        return self.api(user).post(
            f'{GROUPS}/{uuid}/action', json={action: body}
        )

    def delete_group(self, uuid, user='demo'):
        """Delete a group and wait until its holds are gone."""
        self.api(user).delete(f'{GROUPS}/{uuid}')
        self.eventually(lambda: self.holds_of(uuid), lambda holds: not holds)

    def holds_of(self, uuid):
        """Return what our tables know of a group's holds."""
        try:
            group = objects.VRTGroup.get(self.context, uuid)
        except exception.GroupNotFound:
            return []
        return objects.VRTHold.list_by_group(self.context, group.id)

    def change_row(self, uuid, **values):
        """Change a group's row, as time or a crash would have."""
        db.compare_and_set(
            self.context, models.Group, models.Group.uuid == uuid, **values
        )

    def planned_hosts(self, uuid):
        """Return {member path: host}, as the admin sees it."""
        members = self.group(uuid, 'admin')['members']
        return {each['path']: each.get('host') for each in members}

    def redeem(self, uuid, path, flavor, **kwargs):
        """Create the server of a member and wait until it is built."""
        return self.boot(
            flavor, scheduler_hints=member_hints(uuid, path), **kwargs
        )

    def try_redeem(self, uuid, path, flavor='m1.tiny'):
        """Create a member's server: ACTIVE, or why not."""
        try:
            server = self.redeem(uuid, path, flavor)
        except Exception as exc:
            return str(exc)
        if server.status == 'ACTIVE':
            return 'ACTIVE'
        return server.fault['message']

    def redeem_refusal(self, uuid, path):
        outcome = self.try_redeem(uuid, path)
        self.assertNotEqual('ACTIVE', outcome)
        return outcome

    def fill(self, host, **resources):
        """Occupy resources of a host until the end of the test."""
        self.delete_allocations_later(
            foreign_consumers.fill(self.cloud, host, **resources)
        )

    def change_inventory(self, provider, resource='VCPU', **changes):
        """Change an inventory of a provider until the end of the test."""
        path = f'/resource_providers/{provider}/inventories/{resource}'
        inventory = self.cloud.placement.get(path).json()
        self.addCleanup(self._restore, path, inventory)
        self.cloud.placement.put(path, json={**inventory, **changes})

    def _restore(self, path, inventory):
        now = self.cloud.placement.get(path).json()
        generation = now['resource_provider_generation']
        self.cloud.placement.put(
            path,
            json={**inventory, 'resource_provider_generation': generation},
        )

    def rename_table(self, table):
        """Make a table unreadable until the end of the test."""
        self._rename(table, f'{table}_away')
        self.addCleanup(self._rename, f'{table}_away', table)

    @staticmethod
    def _rename(old, new):
        with engine.get_engine().begin() as connection:
            connection.execute(sa.text(f'ALTER TABLE {old} RENAME TO {new}'))

    def delete_allocations_later(self, consumer):
        self.addCleanup(
            self.cloud.placement.delete,
            f'/allocations/{consumer}',
            raise_exc=False,
        )

    def set_quota(self, **quotas):
        """Set the demo project's quotas; they are without limit else."""
        nova = self.cloud.nova('admin')
        project = accounts.by_name('demo').project_id
        nova.quotas.update(project, **quotas)
        self.addCleanup(nova.quotas.delete, project)

    def patch(self, target, name, value):
        self.useFixture(fixtures.MockPatchObject(target, name, value))

    def call_after_scheduling(self, call):
        """Make the conductor call a function once a server is scheduled.

        :param call: called with the server's uuid
        """
        schedule = conductor.ComputeTaskManager._schedule_instances

        def scheduled(manager, context, spec, *args, **kwargs):
            selected = schedule(manager, context, spec, *args, **kwargs)
            call(spec.instance_uuid)
            return selected

        self.useFixture(
            fixtures.MonkeyPatch(
                'nova.conductor.manager.ComputeTaskManager'
                '._schedule_instances',
                scheduled,
            )
        )

    def fail_build(self, uuid, path, flavor='m1.tiny', **kwargs):
        """Redeem a member whose server ends in cell0; returns the server."""

        def fail(_server):
            raise nova_exc.NoValidHost(reason='the answer was lost')

        self.call_after_scheduling(fail)
        server = self.redeem(uuid, path, flavor, **kwargs)
        self.assertEqual('ERROR', server.status)
        self.delete_allocations_later(server.id)
        return server

    def host_of(self, server):
        shown = self.cloud.nova('admin').servers.get(server)
        return getattr(shown, 'OS-EXT-SRV-ATTR:host')

    def free(self, resource='VCPU'):
        """Return {host: how much of the resource is free}."""
        return {
            host.name: self.cloud.free(host.name)[resource]
            for host in self.cloud.hosts
        }


class StepTestCase(GroupTestCase):
    """Takes the steps of planners itself, one at a time."""

    PARTS = WITHOUT_REAPER

    def setUp(self):
        super().setUp()
        self.placement_client = client.PlacementClient(
            report.SchedulerReportClient()
        )


def fail_query(provider, method):
    """Return a patch by which Placement does not answer about a provider.

    :param method: name of the PlacementClient's method that asks it
    """
    query = getattr(client.PlacementClient, method)

    def fail(placement, context, subject):
        if subject == provider:
            raise exception.PlacementUnavailable(reason='a test')
        return query(placement, context, subject)

    return fixtures.MockPatchObject(client.PlacementClient, method, fail)


def member_hints(uuid, path):
    return {'vrt_group': uuid, 'vrt_member': path}


def member(flavor='m1.tiny', **more):
    """A member as the description wants it."""
    return {'flavor': flavor, 'image': image.image_id('cirros'), **more}
