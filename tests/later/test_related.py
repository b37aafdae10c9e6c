# SPDX-License-Identifier: Apache-2.0
"""Relationships to other groups of the project."""

from oslo_utils import uuidutils

from nova_groupext.api import related as checks
from tests.functional import base
from tests.functional import moves

RACKS = {host.name: host.rack for host in moves.HOSTS}


def related(other, *policies, path=None, **topology):
    """Return a topology of one member that is related to another group."""
    part = {'group': other} | ({'path': path} if path else {})
    return {
        'members': {'x': base.member()},
        'relationships': [
            {'name': 'tie', 'between': ['x', part], 'policies': [*policies]}
        ],
        **topology,
    }


def softly(kind, scope, **more):
    return moves.policy(kind, scope, strict=False, **more)


class TestRelated(moves.MovingTestCase):
    def setUp(self):
        super().setUp()
        self.other = self.hold_group(
            {
                'groups': {
                    'data': {
                        'members': {'db': base.member(count=1)},
                        'policies': [moves.policy('affinity', 'host')],
                    }
                },
                'members': {'web': base.member()},
                'policies': [moves.policy('anti-affinity', 'rack')],
            }
        )['id']
        self.db = self.planned_hosts(self.other)['data/db-0']

    def host_beside(self, *policies, **more):
        """Hold a member related to the data; returns its host."""
        uuid = self.hold_group(related(self.other, *policies, **more))['id']
        return self.planned_hosts(uuid)['x']

    def test_network_proximity_places_near_the_holds_of_another_group(self):
        near = softly('network-proximity', 'host')

        for path in ('data', 'data/db', 'data/db-0'):
            self.assertEqual(self.db, self.host_beside(near, path=path))

    def test_anti_affinity_places_away_from_another_group(self):
        apart = softly('anti-affinity', 'host')

        host = self.host_beside(apart)

        self.assertNotIn(host, self.planned_hosts(self.other).values())

    def test_moved_server_of_the_other_group_counts_on_its_host(self):
        server = self.redeem(self.other, 'data/db-0', 'm1.tiny')
        self.addCleanup(self.delete_servers, server)
        self.move('migrate', server)
        self.follow()
        now = self.host_of(server)
        self.assertNotEqual(self.db, now)

        near = softly('network-proximity', 'host')

        self.assertEqual(now, self.host_beside(near, path='data'))

    def test_violation_of_a_relationship_is_shown(self):
        uuid = self.hold_group(
            related(
                self.other,
                softly('network-proximity', 'host', weight=3),
                softly('anti-affinity', 'host'),
                path='data',
            )
        )['id']

        [violation] = self.group(uuid)['violations']

        self.assertEqual('tie', violation['at'])
        self.assertEqual('anti-affinity', violation['policy']['type'])

    def test_move_prefers_hosts_near_the_other_group(self):
        near = softly('network-proximity', 'rack')
        _uuid, servers = self.create_group_servers(
            related(self.other, near, path='data')
        )
        here = self.host_of(servers['x'])
        [neighbour] = [
            name
            for name, rack in RACKS.items()
            if rack == RACKS[self.db] and name != here
        ]
        # Nova's own weighers prefer a host of the other rack.
        self.boot(
            'm1.large', user='admin', availability_zone=f'az1:{neighbour}'
        )

        self.move('migrate', servers['x'])

        self.assertEqual(neighbour, self.host_of(servers['x']))

    def test_relationship_to_a_deleted_group_is_ignored(self):
        near = softly('network-proximity', 'host')
        topology = related(self.other, near, path='data')
        uuid = self.hold_group(topology)['id']
        self.delete_group(self.other)

        revised = self.put_revision(
            uuid, {**topology, 'members': {'x': base.member(count=2)}}
        )

        self.assertEqual('HELD', revised['status'])
        self.assertEqual(2, len(self.planned_hosts(uuid)))

    def put_revision(self, uuid, topology):
        generation = self.group(uuid)['generation']
        response = self.api().put(
            f'{base.GROUPS}/{uuid}',
            json={
                'vrt_group': {'generation': generation, 'topology': topology}
            },
        )
        self.assertEqual(202, response.status_code, response.text)
        return self.eventually(
            self.group, lambda now: now['revision'] is None, uuid
        )

    def test_parts_beyond_the_limit_are_refused(self):
        near = softly('network-proximity', 'host')
        topology = {'members': {'x': base.member()}, 'relationships': []}
        paths = (None, 'data', 'data/db', 'data/db-0', 'web')
        more = self.hold_group(
            {'members': {'m': base.member('m1.tiny', count=4)}}
        )
        parts = [(self.other, path) for path in paths]
        parts += [(more['id'], f'm-{number}') for number in range(4)]
        topology['relationships'] = [
            related(other, near, path=path)['relationships'][0]
            | {'name': f'tie-{number}'}
            for number, (other, path) in enumerate(parts)
        ]
        self.patch(checks, 'MAX_PARTS', len(parts) - 1)

        response = self.post(topology=topology)

        self.assertEqual(400, response.status_code, response.text)
        self.assertIn('exceeds the limit of 8 parts', response.text)

    def test_group_of_another_project_is_refused(self):
        near = softly('network-proximity', 'host')
        where = '$.vrt_group.topology.relationships[0].between[1].group'
        for other, user, path in (
            (uuidutils.generate_uuid(), 'demo', None),
            (self.other, 'other', None),
            (self.other, 'demo', 'nowhere'),
            (self.other.upper(), 'demo', None),
        ):
            response = self.post(
                user, topology=related(other, near, path=path)
            )

            self.assertEqual(400, response.status_code, response.text)
            self.assertIn(where, response.text)
            self.assertIn('is not a group of the project', response.text)

    def test_relationship_of_a_group_to_itself_is_refused(self):
        near = softly('network-proximity', 'host')
        response = self.api().put(
            f'{base.GROUPS}/{self.other}',
            json={
                'vrt_group': {
                    'generation': self.group(self.other)['generation'],
                    'topology': related(self.other, near),
                }
            },
        )

        self.assertEqual(400, response.status_code, response.text)
        self.assertIn('is this group itself', response.text)
