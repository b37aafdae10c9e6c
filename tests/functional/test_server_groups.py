# SPDX-License-Identifier: Apache-2.0
"""VRT groups where tools take the id of a server group."""

from novaclient import exceptions as nova_exc
from oslo_utils import uuidutils

from tests.functional import base
from tests.functional import growing

FRONT = {
    'members': {'web': base.member(count=1, max_count=2)},
    'policies': [
        {'type': 'spread', 'scope': 'rack', 'strict': False},
        {'type': 'anti-affinity', 'scope': 'host', 'strict': False},
    ],
}


class ServerGroupCase(growing.GrowingCase):
    def setUp(self):
        super().setUp()
        self.topology = {
            'members': {'db': base.member()},
            'groups': {'front': FRONT},
        }
        self.uuid = self.hold_group(self.topology)['id']
        self.front = self.group(self.uuid)['subgroups']['front']

    def ask(self, server_group, user='demo'):
        return self.boot(
            'm1.tiny', user=user, scheduler_hints={'group': server_group}
        )

    def shown(self, server_group, version='2.90', user='demo'):
        return self.api(user).get(
            f'/os-server-groups/{server_group}', microversion=version
        )


class TestServerGroups(ServerGroupCase):
    def test_servers_of_a_subgroup_become_any_of_its_members(self):
        held, grown = self.ask(self.front), self.ask(self.front)

        self.assertEqual(
            {'db': None, 'front/web-0': held.id, 'front/web-1': grown.id},
            {each['path']: each['server_id'] for each in self.members()},
        )
        error = self.assertRaises(nova_exc.Forbidden, self.ask, self.front)
        self.assertIn('front', str(error))
        self.assert_sound()

    def test_server_of_the_group_becomes_the_first_member(self):
        server = self.ask(self.uuid)

        self.assertEqual(server.id, self.members()[0]['server_id'])

    def test_subgroup_is_shown_like_a_server_group(self):
        server = self.ask(self.front)
        group = self.group(self.uuid)

        shown = self.shown(self.front).json()['server_group']

        self.assertEqual(
            {
                'id': self.front,
                'name': 'front',
                'members': [server.id],
                'policy': 'soft-anti-affinity',
                'rules': {},
                'project_id': group['project_id'],
                'user_id': group['user_id'],
            },
            shown,
        )
        old = self.shown(self.uuid, '2.1').json()['server_group']
        self.assertEqual(
            {
                'id': self.uuid,
                'name': group['name'],
                'members': [server.id],
                'policies': [],
                'metadata': {},
            },
            old,
        )

    def test_subgroup_shows_no_servers_of_others(self):
        """Neither of the group, nor of one whose name begins alike."""
        self.topology['groups']['frontend'] = {'members': {'x': base.member()}}
        self.put_topology(self.topology)
        frontend = self.group(self.uuid)['subgroups']['frontend']
        self.ask(self.uuid), self.ask(frontend)
        server = self.ask(self.front)

        shown = self.shown(self.front).json()['server_group']

        self.assertEqual([server.id], shown['members'])

    def test_member_without_server_is_not_shown(self):
        shown = self.shown(self.front).json()['server_group']

        self.assertEqual([], shown['members'])

    def test_other_requests_for_server_groups_are_answered_by_nova(self):
        path = f'/os-server-groups/{self.front}'

        self.assertEqual(404, self.api().delete(path).status_code)
        self.assertEqual(404, self.api().get(f'{path}/x').status_code)

    def test_ids_of_subgroups_stay(self):
        self.topology['groups']['other'] = {'members': {'x': base.member()}}

        self.put_topology(self.topology)

        subgroups = self.group(self.uuid)['subgroups']
        self.assertEqual(self.front, subgroups['front'])
        self.assertEqual({'front', 'other'}, subgroups.keys())
        self.ask(subgroups['other'])
        self.assertEqual('ACTIVE', self.statuses()['other/x'])

    def test_refused_revision_is_no_server_group(self):
        many = {'members': {'web': base.member(count=9)}}
        apart = {'type': 'anti-affinity', 'scope': 'host'}
        self.topology['groups']['front'] = {**many, 'policies': [apart]}
        generation = self.group(self.uuid)['generation']
        body = {'generation': generation, 'topology': self.topology}
        self.api().put(f'{base.GROUPS}/{self.uuid}', json={'vrt_group': body})
        self.eventually(
            self.group,
            lambda now: (now['revision'] or {}).get('status') == 'REFUSED',
            self.uuid,
        )

        shown = self.shown(self.front).json()['server_group']

        self.assertEqual('soft-anti-affinity', shown['policy'])

    def test_server_groups_of_nova_are_used_without_ours(self):
        stock = self.cloud.nova('demo').server_groups.create(
            'stock', 'anti-affinity'
        )

        server = self.ask(stock.id)

        self.assertEqual('ACTIVE', server.status)
        shown = self.shown(stock.id).json()['server_group']
        self.assertEqual([server.id], shown['members'])

    def test_other_projects_do_not_see_the_group(self):
        for each in (self.uuid, self.front):
            # An admin may see groups of all projects, but use only his own.
            for user in ('other', 'admin'):
                self.assertEqual(404, self.shown(each, user=user).status_code)
                self.assertRaises(
                    nova_exc.BadRequest, self.ask, each, user=user
                )

    def test_unknown_server_group_is_refused_by_nova(self):
        unknown = uuidutils.generate_uuid()

        self.assertRaises(nova_exc.BadRequest, self.ask, unknown)
        self.assertEqual(404, self.shown(unknown).status_code)


class TestPolicy(ServerGroupCase):
    SHARES_CLOUD = False

    def test_operators_may_turn_this_off(self):
        (self.cloud.state / 'policy.yaml').write_text(
            '"os_compute_api:os-vrt-groups:server_group": "!"'
        )

        self.assertEqual(404, self.shown(self.front).status_code)
        self.assertRaises(nova_exc.BadRequest, self.ask, self.front)
