# SPDX-License-Identifier: Apache-2.0
"""Deployments in a cloud that does not answer, or refuses, for a moment."""

import functools

import fixtures
from keystoneauth1 import exceptions as ksa_exceptions
from nova import exception as nova_exc
from openstack import exceptions

from nova_groupext.cloud import driver
from nova_groupext_client import template
from nova_groupext_client.deploy import member_states
from nova_groupext_client.deploy import servers
from tests.later import deploying

ACTIVE = member_states.State.ACTIVE
FAILED = member_states.State.FAILED
DB = """\
heat_template_version: 2021-04-16
resources:
  db:
    type: OS::Nova::Server
    properties:
      flavor: {flavor}
      image: cirros
      networks: [{{allocate_network: none}}]
      block_device_mapping_v2: [{{swap_size: 1}}]
"""


class TestTroubles(deploying.DeployTestCase):
    def fail_once(self, owner, name, error, *, is_done=False):
        """Replace a function by one whose first call fails.

        :param is_done: whether only its answer is lost
        """
        usual = getattr(owner, name)
        errors = [error]

        def call(*args, **kwargs):
            if not errors:
                return usual(*args, **kwargs)
            failed = errors.pop()
            if is_done:
                usual(*args, **kwargs)
            raise failed

        self.useFixture(
            fixtures.MockPatchObject(owner, name, functools.wraps(usual)(call))
        )

    def deployed(self):
        """Deploy, and return {path: number of servers}, with the group."""
        made = self.deploy_all(self.load(webs=1))
        self.assertEqual({ACTIVE: 2}, self.recorded_counts[-1])
        found = self.servers_of(made.group)
        return {path: len(each) for path, each in found.items()}

    def test_creation_of_the_group_whose_answer_is_lost_is_repeated(self):
        timeout = exceptions.HttpException('Gateway Timeout', http_status=504)
        self.fail_once(type(self.vrt), 'create_group', timeout, is_done=True)

        self.assertEqual({'db': 1, 'front/web-0': 1}, self.deployed())

        self.assertEqual(1, len(list(self.vrt.groups())))

    def test_create_that_is_not_answered_is_repeated(self):
        unavailable = exceptions.HttpException(
            'Service Unavailable', http_status=503
        )
        self.fail_once(servers.Servers, 'create', unavailable)

        self.assertEqual({'db': 1, 'front/web-0': 1}, self.deployed())

    def test_server_whose_answer_is_lost_is_found(self):
        lost = ksa_exceptions.ConnectFailure('The answer is lost.')
        self.fail_once(servers.Servers, 'create', lost, is_done=True)

        self.assertEqual({'db': 1, 'front/web-0': 1}, self.deployed())

    def test_poll_of_the_plan_that_is_not_answered_is_repeated(self):
        unavailable = exceptions.HttpException(
            'Service Unavailable', http_status=503
        )
        self.fail_once(type(self.vrt), 'get_group', unavailable)

        self.assertEqual({'db': 1, 'front/web-0': 1}, self.deployed())

    def test_release_during_a_revision_is_repeated(self):
        conflict = exceptions.ConflictException('It is put in force.')
        for _number in range(4):
            self.fail_once(type(self.vrt), 'release_group', conflict)

        made = self.deploy_all(self.load(webs=1, key='nobody'))

        member = self.vrt.get_member(made.group, 'db')
        self.assertEqual('RELEASED', member.status)

    def test_server_has_its_image_and_further_devices(self):
        flavors = self.cloud.nova('admin').flavors
        flavor = flavors.create(self.unique_name(), 64, 1, 1, swap=1)
        self.addCleanup(flavors.delete, flavor)
        loaded = template.load(
            DB.format(flavor=flavor.name), {}, self.unique_name()
        )

        made = self.deploy_all(loaded)

        self.assertIsNone(made.members['db'].fault)
        self.assertEqual({ACTIVE: 1}, self.recorded_counts[-1])

    def test_member_whose_build_failed_is_created_before_the_reaper(self):
        loaded, failed, _server = self.deploy_with_failure()

        self.deploy_all(loaded, resumed=failed.group)

        self.assertEqual({ACTIVE: 2}, self.recorded_counts[-1])

    def test_member_whose_build_failed_is_created_after_the_reaper(self):
        loaded, failed, server = self.deploy_with_failure()
        self.eventually(
            self.vrt.get_group,
            lambda now: (
                {
                    each['server_id']: each['status'] for each in now.members
                }.get(server)
                == 'FAILED'
            ),
            failed.group.id,
        )

        self.deploy_all(loaded, resumed=failed.group)

        self.assertEqual({ACTIVE: 2}, self.recorded_counts[-1])

    def deploy_with_failure(self):
        """Deploy with a server that cannot be built.

        :returns: (template, Deployment, id of that server)
        """
        broken = nova_exc.InstanceDeployFailure(reason='it is broken')
        self.fail_once(driver.TryOutDriver, 'spawn', broken)
        loaded = self.load(webs=1)
        failed = self.deploy_all(loaded)
        self.assertEqual(1, self.recorded_counts[-1][FAILED])
        [server] = [
            each.server_id
            for each in failed.members.values()
            if each.state is FAILED
        ]
        # Nova takes the host from it last.
        nova = self.cloud.nova('demo')
        self.eventually(nova.servers.get, lambda now: not now.hostId, server)
        return loaded, failed, server

    def test_template_refers_to_the_name_of_the_group_it_revises(self):
        self.addCleanup(self.delete_all)
        text = deploying.WEB.replace(
            'count: {get_param: webs}',
            'count: {if: [{equals: [{get_param: "OS::stack_name"}, blue]}, '
            '2, 1]}',
        )
        file = self.file(text)
        command = ('vrt', 'group', 'create', 'blue', '--template', file)
        self.assertEqual(0, self.openstack(*command, '--wait').status)
        [group] = self.vrt.groups()

        changed = self.openstack(
            *('vrt', 'group', 'set', 'blue', '--template', file, '--wait')
        )

        self.assertEqual(0, changed.status, changed.err)
        self.assertEqual(3, len(self.vrt.get_group(group.id).members))
