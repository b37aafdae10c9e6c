# SPDX-License-Identifier: Apache-2.0
"""The SDK's service ``conn.vrt``, from creation to deletion of groups."""

import pathlib
import re
import textwrap

import fixtures
from keystoneauth1 import exceptions as ksa_exceptions
from openstack import connection
from openstack import exceptions
from openstack.config import loader

from nova_groupext.cloud import accounts
from nova_groupext_client import passing_errors
from nova_groupext_client import sdk
from nova_groupext_client.sdk import vrt_group
from nova_groupext_client.sdk import vrt_member
from tests.clients import base

ROOT = pathlib.Path(__file__).parents[2]
TOO_LARGE = base.topology(count=50)


class TestProxy(base.ClientTestCase):
    def test_group_is_described_held_and_found(self):
        seen = []

        group = self.create_group(description='a shop', expires_in=600)
        self.assertEqual('PLANNING', group.status)
        held = self.vrt.wait_for_group(
            group, 'HELD', interval=base.INTERVAL_SECONDS, callback=seen.append
        )

        self.assertEqual('HELD', seen[-1].status)
        self.assertEqual('a shop', held.description)
        self.assertEqual(base.topology(), held.topology)
        self.assertEqual(
            ['front/web-0', 'front/web-1'], [m['path'] for m in held.members]
        )
        for known in (group.id, group.name):
            self.assertEqual(held.id, self.vrt.find_group(known).id)
        [listed] = self.vrt.groups(name=group.name, status='HELD')
        self.assertEqual(held.members, listed.members)

    def test_list_reads_all_pages(self):
        ids = {self.create_group(hold=False).id for _ in range(3)}

        for details in (True, False):
            listed = self.vrt.groups(details=details, limit=1)
            self.assertLessEqual(ids, {group.id for group in listed})

    def test_list_continues_after_a_deleted_group(self):
        name = self.unique_name()
        ids = [
            self.wait(self.create_group(name=name, hold=False)).id
            for _ in range(3)
        ]

        listed = []
        for group in self.vrt.groups(name=name, sort_key='status', limit=1):
            listed.append(group.id)
            self.vrt.delete_group(group)

        self.assertEqual(ids, listed)

    def test_groups_named_like_routes_are_found(self):
        for name in ('capabilities', 'detail', 'a/b?c'):
            self.assertIsNone(self.vrt.find_group(name, ignore_missing=True))
            group = self.create_group(name=name, hold=False)
            self.assertEqual(group.id, self.vrt.find_group(name).id)
        with self.assertRaises(exceptions.NotFoundException):
            self.vrt.find_group('nobody')

    def test_duplicate_name_error_lists_the_ids(self):
        name = self.unique_name()
        ids = {self.create_group(name=name, hold=False).id for _ in range(2)}

        error = self.assertRaises(
            exceptions.DuplicateResource, self.vrt.find_group, name
        )

        for each in ids:
            self.assertIn(each, str(error))

    def test_second_creation_with_a_token_makes_no_group(self):
        token = self.unique_name()

        made = self.create_group(name='once', client_token=token)
        again = self.create_group(name='once', client_token=token)

        self.assertEqual(made.id, again.id)

    def test_wait_for_a_refused_group_fails_with_the_reason(self):
        group = self.create_group(topology=TOO_LARGE)

        error = self.assertRaises(
            exceptions.ResourceFailure, self.wait, group, ('HELD', 'ACTIVE')
        )
        self.assertIn('is REFUSED', str(error))
        self.assertIn('There is not enough free capacity for 50', str(error))
        self.assertIn('fits with', str(error))
        self.assertEqual('REFUSED', self.wait(group).status)
        self.assertIn('conflict', self.vrt.get_group(group).refusal)

    def test_wait_times_out_and_deletion_may_be_repeated(self):
        group = self.hold_group()

        with self.assertRaises(exceptions.ResourceTimeout):
            self.vrt.wait_for_group(group, 'ACTIVE', wait=0)

        self.deleted(group)

    def deleted(self, group):
        self.vrt.delete_group(group)
        self.vrt.delete_group(group)

        with self.assertRaises(exceptions.NotFoundException):
            self.vrt.delete_group(group, ignore_missing=False)
        with self.assertRaises(exceptions.NotFoundException):
            self.vrt.get_group(group.id)

    def test_wait_goes_on_while_the_cloud_does_not_answer(self):
        group = self.create_group(hold=False)
        errors = [
            exceptions.HttpException('', http_status=503),
            ksa_exceptions.ConnectFailure(),
        ]
        get = type(self.vrt).get_group

        def fail_or_get(*args):
            if errors:
                raise errors.pop()
            return get(*args)

        with fixtures.MockPatchObject(
            type(self.vrt), 'get_group', fail_or_get
        ):
            self.assertEqual('PLANNED', self.wait(group).status)
        self.assertEqual([], errors)

    def test_errors_that_last_end_the_wait(self):
        group = self.create_group(hold=False)
        for error in (
            exceptions.HttpException('', http_status=500),
            exceptions.HttpException('', http_status=503),
        ):
            with (
                fixtures.MockPatchObject(
                    type(self.vrt), 'get_group', side_effect=error
                ),
                fixtures.MockPatchObject(
                    *(passing_errors.retried, '__defaults__', (0,))
                ),
                self.assertRaises(exceptions.HttpException),
            ):
                self.wait(group)

    def test_what_if_is_held_later(self):
        group = self.wait(self.create_group(hold=False))
        self.assertEqual('PLANNED', group.status)

        self.vrt.hold_group(group)

        self.assertEqual('HELD', self.wait(group).status)

    def test_update_revises_the_group_and_stale_objects_conflict(self):
        group = self.hold_group()
        stale = self.vrt.get_group(group.id)
        listed = self.vrt.groups(details=False, name=group.name)
        also_stale = next(each for each in listed if each.id == group.id)

        self.vrt.update_group(group, description='new', name='renamed')
        self.wait(group)

        now = self.vrt.get_group(group.id)
        self.assertEqual(('new', 'renamed'), (now.description, now.name))
        self.assertEqual(base.topology(), now.topology)
        for old in (stale, also_stale):
            with self.assertRaises(exceptions.ConflictException):
                self.vrt.update_group(old, description='too late')
        self.vrt.update_group(
            group.id, topology=base.topology(1), generation=None
        )
        self.assertEqual(1, len(self.wait(group).members))

    def test_resources_have_all_attributes_of_the_api(self):
        group = self.hold_group()

        for path, resource in (
            (f'/os-vrt-groups/{group.id}', vrt_group.VrtGroup),
            (
                f'/os-vrt-groups/{group.id}/members/front/web-0',
                vrt_member.VrtMember,
            ),
        ):
            [shown] = self.conn.compute.get(path).json().values()
            known = resource._body_mapping()
            self.assertEqual(
                {'links'}, shown.keys() - known.keys() | {'links'}
            )

    def test_extension_changes_the_expiry(self):
        first = self.hold_group(expires_in=600)

        self.vrt.extend_group(first, 3000)
        longer = self.vrt.get_group(first.id)
        self.vrt.extend_group(first.id)
        again = self.vrt.get_group(first.id)

        self.assertLess(first.expires_at, longer.expires_at)
        self.assertLess(again.expires_at, longer.expires_at)

    def test_released_member_is_held_by_a_replan(self):
        group = self.hold_group()

        self.vrt.release_group(group, ['front/web-1'])
        self.assertEqual(['HELD', 'RELEASED'], self.states(group))
        self.vrt.replan_group(group)
        self.wait(group)

        self.assertEqual(['HELD', 'HELD'], self.states(group))
        self.vrt.release_group(group)
        self.assertEqual('RELEASED', self.vrt.get_group(group).status)

    def test_actions_with_an_outdated_generation_conflict(self):
        group = self.hold_group(topology=base.topology(1))
        seen = group.generation
        self.vrt.update_group(group, generation=seen, name='other')

        for act in (
            self.vrt.extend_group,
            self.vrt.hold_group,
            self.vrt.release_group,
            self.vrt.replan_group,
            self.vrt.boot_group,
            lambda group, generation: self.vrt.adopt_servers(
                group, {'front/web-0': group.id}, generation=generation
            ),
            self.vrt.propose_moves,
            self.vrt.delete_group,
            lambda group, generation: self.vrt.create_member(
                group, path='front/web', count=1, generation=generation
            ),
            lambda group, generation: self.vrt.delete_member(
                group, 'front/web', generation=generation
            ),
        ):
            with self.assertRaisesRegex(
                exceptions.ConflictException, 'has changed since'
            ):
                act(group, generation=seen)

        self.assertEqual(['HELD'], self.states(group))

    def test_boot_creates_the_servers(self):
        group = self.hold_group(topology=base.topology(1))

        self.vrt.boot_group(group, {'default': {'networks': 'none'}})

        booted = self.vrt.wait_for_boot(group, interval=0.1).boot
        self.assertEqual(
            ('done', 1, 1),
            tuple(booted[name] for name in ('status', 'missing', 'created')),
        )
        self.wait(group, 'ACTIVE')
        self.assertEqual([], self.vrt.propose_moves(group).moves)

    def test_members_are_added_and_removed(self):
        group = self.hold_group()

        self.vrt.create_member(
            group, path='cache', flavor='m1.tiny', image=base.CIRROS
        )
        self.wait(group)
        cache = self.vrt.get_member(group, 'cache')
        self.assertEqual('HELD', cache.status)
        self.assertEqual(3 * ['HELD'], self.states(group))
        self.assertEqual(3, len(list(self.vrt.members(group, limit=2))))
        self.assertEqual([], list(self.vrt.members(group, status='FAILED')))
        self.vrt.delete_member(group, cache)
        self.wait(group)

        self.assertEqual(2 * ['HELD'], self.states(group))
        self.vrt.delete_member(group, 'cache')
        with self.assertRaises(exceptions.NotFoundException):
            self.vrt.delete_member(group, 'cache', ignore_missing=False)

    def test_member_paths_are_quoted_in_urls(self):
        names = ('a b', 'c#d', 'e?f=1', '100%', 'ä ö', '東京')
        member = {'flavor': 'm1.tiny', 'image': base.CIRROS}
        group = self.create_group(
            hold=False, topology={'members': dict.fromkeys(names, member)}
        )

        for name in names:
            self.assertEqual(name, self.vrt.get_member(group, name).path)
        with self.assertRaises(exceptions.NotFoundException):
            self.vrt.get_member(group, 'nobody')
        self.wait(group)
        self.vrt.delete_member(group, self.vrt.get_member(group, 'ä ö'))
        with self.assertRaises(exceptions.NotFoundException):
            self.vrt.get_member(group, 'ä ö')

    def test_only_admins_see_hosts(self):
        group = self.hold_group()
        admin = self.conn.connect_as(
            username='admin',
            project_name='admin',
            password=accounts.ADMIN.password,
        )
        self.addCleanup(admin.close)

        hosts = {member.host for member in admin.vrt.members(group)}
        self.assertLessEqual(hosts, {'cmp-1', 'cmp-2'})
        self.assertEqual({None}, {m.host for m in self.vrt.members(group)})
        self.assertIsNotNone(admin.vrt.get_group(group.id).cost)

    def test_registration_sends_no_request(self):
        asked = []
        conn = self.cloud.sdk('other')
        conn.session.request, real = (
            lambda url, *args, **kwargs: (
                asked.append(url) or real(url, *args, **kwargs)
            ),
            conn.session.request,
        )

        sdk.register(conn)
        self.assertEqual([], asked)
        capabilities = conn.vrt.get_capabilities()

        self.assertEqual(['host', 'rack', 'zone'], capabilities.scopes)
        self.assertTrue(asked[-1].endswith('/os-vrt-groups/capabilities'))

    def test_vendor_hook_in_clouds_yaml_registers_the_service(self):
        config = loader.OpenStackConfig(
            config_files=[str(self.cloud.clouds_yaml)], load_envvars=False
        ).get_one('vrt-demo', vendor_hook='nova_groupext_client.sdk:register')

        with connection.Connection(config=config) as conn:
            self.assertEqual('1.0', conn.vrt.get_capabilities().version)

    def test_documented_example_runs(self):
        page = (ROOT / 'doc/source/user/clients.rst').read_text()
        section = page[page.index('\nSDK\n===') :]
        shown = re.search(r'code-block:: python\n((\n|    .*\n)+)', section)
        code = textwrap.dedent(shown[1]).replace("'mine'", "'vrt-demo'")
        clouds_yaml = str(self.cloud.clouds_yaml)

        done = {}
        with fixtures.EnvironmentVariable(
            'OS_CLIENT_CONFIG_FILE', clouds_yaml
        ):
            exec(code, done)

        self.addCleanup(done['conn'].close)
        self.addCleanup(self.delete_group_and_servers, done['group'])
        self.assertEqual('ACTIVE', done['group'].status)
        racks = {m['domains']['rack'] for m in done['group'].members}
        self.assertEqual(2, len(racks))

    def states(self, group):
        return [member.status for member in self.vrt.members(group)]
