# SPDX-License-Identifier: Apache-2.0
"""Does a group go where another group of its project lets it be best?"""

from oslo_utils import uuidutils

from nova_groupext.api import related as checks
from tests.functional import base
from tests.functional import moves

RACKS = {host.name: host.rack for host in moves.HOSTS}


def related(other, *policies, path=None, **topology):
    """A topology of one member that has to do with another group."""
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
        self.other = self.held(
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
        self.db = self.planned(self.other)['data/db-0']

    def host_beside(self, *policies, **more):
        """Hold a member related to the data; return where it is."""
        uuid = self.held(related(self.other, *policies, **more))['id']
        return self.planned(uuid)['x']

    def test_near_what_another_group_holds(self):
        near = softly('network-proximity', 'host')

        for path in ('data', 'data/db', 'data/db-0'):
            self.assertEqual(self.db, self.host_beside(near, path=path))

    def test_away_from_all_of_another_group(self):
        apart = softly('anti-affinity', 'host')

        host = self.host_beside(apart)

        self.assertNotIn(host, self.planned(self.other).values())

    def test_its_servers_count_where_they_are(self):
        server = self.redeem(self.other, 'data/db-0', 'm1.tiny')
        self.addCleanup(self.remove, server)
        self.move('migrate', server)
        self.follow()
        now = self.host_of(server)
        self.assertNotEqual(self.db, now)

        near = softly('network-proximity', 'host')

        self.assertEqual(now, self.host_beside(near, path='data'))

    def test_what_it_costs_is_told(self):
        uuid = self.held(
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

    def test_a_move_goes_where_the_other_group_is(self):
        near = softly('network-proximity', 'rack')
        _uuid, servers = self.servers(related(self.other, near, path='data'))
        here = self.host_of(servers['x'])
        [neighbour] = [
            name
            for name, rack in RACKS.items()
            if rack == RACKS[self.db] and name != here
        ]
        # Nova's own weighers would rather have a host of the other rack.
        self.boot(
            'm1.large', user='admin', availability_zone=f'az1:{neighbour}'
        )

        self.move('migrate', servers['x'])

        self.assertEqual(neighbour, self.host_of(servers['x']))

    def test_when_the_other_group_is_gone_it_counts_no_more(self):
        near = softly('network-proximity', 'host')
        topology = related(self.other, near, path='data')
        uuid = self.held(topology)['id']
        self.delete_group(self.other)

        revised = self.revised(
            uuid, {**topology, 'members': {'x': base.member(count=2)}}
        )

        self.assertEqual('HELD', revised['status'])
        self.assertEqual(2, len(self.planned(uuid)))

    def revised(self, uuid, topology):
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

    def test_so_many_parts_and_no_more(self):
        near = softly('network-proximity', 'host')
        topology = {'members': {'x': base.member()}, 'relationships': []}
        paths = (None, 'data', 'data/db', 'data/db-0', 'web')
        more = self.held({'members': {'m': base.member('m1.tiny', count=4)}})
        parts = [(self.other, path) for path in paths]
        parts += [(more['id'], f'm-{number}') for number in range(4)]
        topology['relationships'] = [
            related(other, near, path=path)['relationships'][0]
            | {'name': f'tie-{number}'}
            for number, (other, path) in enumerate(parts)
        ]
        self.patch(checks, 'MOST', len(parts) - 1)

        response = self.post(topology=topology)

        self.assertEqual(400, response.status_code, response.text)
        self.assertIn('one more than 8 parts', response.text)

    def test_only_groups_of_the_project_can_be_named(self):
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
            self.assertIn('is no group of the project', response.text)

    def test_a_group_cannot_name_itself(self):
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
