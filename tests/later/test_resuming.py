# SPDX-License-Identifier: Apache-2.0
"""Resumed deployments of groups that change concurrently."""

import threading

import fixtures

from nova_groupext.conf import CONF
from nova_groupext.scheduler.decide import decide
from nova_groupext_client import template
from tests.clients import base
from tests.later import deploying

WEB = 'front/web-0'
RENAMED = 'front/web-7'


class TestResuming(deploying.DeployTestCase):
    def test_concurrent_change_of_the_group_is_reported(self):
        loaded = self.load(webs=1)
        with self.create_deployment(loaded) as made:
            made.describe(name=loaded.name)
        self.addCleanup(self.delete_group_and_servers, made.group)
        find = type(self.vrt).find_group

        def find_and_revise(vrt, *args, **kwargs):
            found = find(vrt, *args, **kwargs)
            self.vrt.create_member(
                found, path='late', flavor='m1.tiny', image=base.CIRROS
            )
            return found

        with fixtures.MockPatchObject(
            type(self.vrt), 'find_group', find_and_revise
        ):
            told = self.deploy_refusal(
                '--resume', loaded.name, '--parameter', 'webs=1'
            )

        self.assertIn(f'Group {loaded.name} was changed meanwhile', told)
        self.assertIn(f'vrt group show {made.group.id}', told)
        self.assertIn('To continue:', told)
        self.assertIn('To undo:', told)
        self.assertEqual({}, self.servers_of(made.group))

    def member(self, group, path):
        now = self.vrt.get_group(group.id)
        return next(each for each in now.members if each['path'] == path)

    def states_after(self, loaded, group):
        """Resume a deployment; return {path: state} at its end."""
        resumed = self.deploy_all(loaded, resumed=group)
        return {
            path: str(each.state) for path, each in resumed.members.items()
        }

    def test_member_whose_server_was_deleted_is_held_and_created_again(self):
        loaded = self.load(webs=1)
        group = self.deploy_all(loaded).group
        first = self.member(group, WEB)['server_id']
        self.delete_servers(self.cloud.nova('demo').servers.get(first))

        self.assertEqual(
            {'db': 'active', WEB: 'active'}, self.states_after(loaded, group)
        )

        again = self.member(group, WEB)
        self.assertEqual('ACTIVE', again['status'])
        self.assertNotEqual(first, again['server_id'])

    def test_member_that_the_cloud_knows_to_be_gone_is_held_again(self):
        loaded = self.load(webs=1)
        group = self.deploy_all(loaded).group
        first = self.member(group, WEB)['server_id']
        self.delete_servers(self.cloud.nova('demo').servers.get(first))
        self.eventually(
            self.member, lambda now: now['status'] == 'TENTATIVE', group, WEB
        )

        self.assertEqual(
            {'db': 'active', WEB: 'active'}, self.states_after(loaded, group)
        )

    def test_member_that_another_client_has_renamed_is_created(self):
        loaded = self.load(webs=2)
        with self.create_deployment(loaded) as made:
            made.describe(name=loaded.name)
        group = made.group
        self.addCleanup(self.delete_group_and_servers, group)
        CONF.set_override('rehold_after_server_end', True, 'vrt')
        self.addCleanup(CONF.clear_override, 'rehold_after_server_end', 'vrt')
        nova = self.cloud.nova('demo')
        server = nova.servers.create(
            *('another', base.CIRROS, nova.flavors.find(name='m1.tiny')),
            nics='none',
            scheduler_hints={'vrt_group': group.id, 'vrt_member': RENAMED},
        )
        self.eventually(
            nova.servers.get, lambda now: now.status == 'ACTIVE', server
        )
        self.delete_servers(server)
        self.eventually(
            self.member,
            lambda now: now['status'] == 'HELD',
            *(group, RENAMED),
        )

        self.assertEqual(
            {'db': 'active', WEB: 'active', RENAMED: 'active'},
            self.states_after(loaded, group),
        )

        [server] = self.servers_of(group)[RENAMED]
        self.assertEqual('web-7', server['name'])

    def test_group_whose_holds_have_expired_is_held_and_created(self):
        loaded = self.load(webs=1)
        with self.create_deployment(loaded) as made:
            made.describe(name=loaded.name, expires_in=1)
        self.wait(made.group, 'RELEASED')

        self.assertEqual(
            {'db': 'active', WEB: 'active'},
            self.states_after(loaded, made.group),
        )

    def test_plan_that_is_under_way_is_waited_for(self):
        loaded = self.load(webs=1)
        with self.create_deployment(loaded) as made:
            made.describe(name=loaded.name, expires_in=1)
        self.wait(made.group, 'RELEASED')
        go_on = threading.Event()
        attempt = decide._attempt

        def wait_and_attempt(*args):
            go_on.wait()
            return attempt(*args)

        self.useFixture(
            fixtures.MockPatchObject(decide, '_attempt', wait_and_attempt)
        )
        self.vrt.replan_group(made.group)
        group = self.vrt.get_group(made.group.id)
        self.assertTrue(group.is_planning)
        threading.Timer(1, go_on.set).start()

        self.assertEqual(
            {'db': 'active', WEB: 'active'}, self.states_after(loaded, group)
        )

    def test_server_beyond_the_definition_stays(self):
        loaded = self.load(webs=2)
        group = self.deploy_all(loaded).group
        fewer = template.load(deploying.WEB, {'webs': 1}, loaded.name)
        with self.create_deployment(fewer) as described:
            self.vrt.update_group(group.id, topology=described.topology)
        self.wait(group)

        self.assertEqual(
            {'db': 'active', WEB: 'active', 'front/web-1': 'leaving'},
            self.states_after(fewer, group),
        )

    def test_server_that_failed_on_its_host_keeps_its_fault(self):
        loaded = self.load(webs=1)
        group = self.deploy_all(loaded).group
        first = self.member(group, WEB)['server_id']
        self.cloud.nova('admin').servers.reset_state(first, 'error')

        self.assertEqual(
            {'db': 'active', WEB: 'failed'}, self.states_after(loaded, group)
        )
        self.assertEqual(first, self.member(group, WEB)['server_id'])
