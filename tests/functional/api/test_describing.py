# SPDX-License-Identifier: Apache-2.0
"""POST: what is taken, what is refused, and that a refusal leaves nothing."""

from concurrent import futures

from nova_groupext import quota
from nova_groupext.cloud import image
from nova_groupext.conf import CONF
from tests import fixtures
from tests.functional import base

CIRROS = image.image_id('cirros')
NOBODYS_IMAGE = '7f3a9d0c-0b0e-4d3f-8d8e-0a8f2b1c9d10'
WHERE = '$.vrt_group.topology.members.a'

# What is said of the member `a`, where the mistake is, and what it is.
BAD_MEMBERS = [
    ({'flavor': 'm9'}, f'{WHERE}.flavor', 'flavor "m9" could not be found'),
    (
        {'image': NOBODYS_IMAGE},
        f'{WHERE}.image',
        f'image "{NOBODYS_IMAGE}" could not be found',
    ),
    (
        {'image': 'cirros'},
        f'{WHERE}.image',
        '"cirros" is no uuid; an image is not known by its name',
    ),
    (
        {'image': 'http://elsewhere/v2/images/' + CIRROS},
        f'{WHERE}.image',
        'is no uuid',
    ),
    (
        {'availability_zone': 'az9'},
        f'{WHERE}.availability_zone',
        'availability zone "az9" could not be found',
    ),
    (
        {'availability_zone': 'az1:cmp-1'},
        f'{WHERE}.availability_zone',
        'must name a zone; a host cannot be chosen',
    ),
    ({'boot_from_volume': True}, WHERE, 'needs either an image or'),
    ({'flavor': 'vrt-numa'}, WHERE, 'asks for NUMA nodes'),
    ({'flavor': 'vrt-gold'}, f'{WHERE}.flavor', 'asks for numbered groups'),
    ({'flavor': 'vrt-private'}, f'{WHERE}.flavor', 'could not be found'),
]
FLAVORS = {
    'vrt-numa': {'hw:numa_nodes': '1'},
    'vrt-gold': {'resources1:CUSTOM_GOLD': '1'},
    'vrt-private': {},
}


class TestDescribing(base.GroupTestCase):
    def setUp(self):
        super().setUp()
        # Groups of the test before are forgotten a little after its end.
        self.eventually(_described, lambda rows: not rows)

    def refused(self, code, response):
        """Return the message of a refusal that left no row behind."""
        self.assertEqual(code, response.status_code, response.text)
        self.assertIn('application/json', response.headers['Content-Type'])
        [fault] = response.json().values()
        self.assertEqual(code, fault['code'])
        self.assertEqual({}, _described())
        return fault['message']

    def make_flavors(self):
        nova = self.cloud.nova('admin')
        for name, extra_specs in FLAVORS.items():
            flavor = nova.flavors.create(
                name, 64, 1, 1, is_public=name != 'vrt-private'
            )
            self.addCleanup(flavor.delete)
            if extra_specs:
                flavor.set_keys(extra_specs)

    def test_bad_members_are_refused_with_path_and_reason(self):
        self.make_flavors()
        for bad, path, reason in BAD_MEMBERS:
            topology = {'members': {'good': base.member(), 'a': base.member()}}
            topology['members']['a'].update(bad)
            told = self.refused(400, self.post(topology=topology))
            self.assertEqual(path, told.partition(': ')[0])
            self.assertIn(reason, told)

    def test_a_flavor_is_seen_by_those_who_may(self):
        self.make_flavors()
        topology = {'members': {'a': base.member('vrt-private')}}

        response = self.post('admin', topology=topology, hold=False)

        self.assertEqual(202, response.status_code, response.text)

    def test_bad_bodies_are_refused_with_path_and_reason(self):
        for body, code in (
            (b'', 400),
            (b'{', 400),
            (b'\xff', 400),
            (b'[' * 50000, 400),
            (b'{"vrt_group": {"name": "\\ud800", "topology": {}}}', 400),
            (b'{"vrt_group": {"name": "a", "topology": []}}', 400),
            (b'null', 400),
        ):
            response = self.api().post(
                base.GROUPS,
                data=body,
                headers={'Content-Type': 'application/json'},
            )
            self.assertEqual('$', self.refused(code, response)[:1])

    def test_other_content_is_refused(self):
        response = self.api().post(
            base.GROUPS, data=b'{}', headers={'Content-Type': 'text/html'}
        )

        self.refused(415, response)

    def test_exclusive_is_for_those_who_may(self):
        topology = {
            'members': {'a': base.member()},
            'policies': [{'type': 'exclusive', 'scope': 'host'}],
        }

        for hold in (True, False):
            response = self.post('demo', topology=topology, hold=hold)
            self.assertIn('create:exclusive', self.refused(403, response))
        whatif = self.describe(topology, 'admin', hold=False)

        self.assertEqual('PLANNED', whatif['status'], whatif)

    def test_the_answer_is_the_group_and_where_it_is(self):
        response = self.post(topology={'members': {'a': base.member()}})

        group = response.json()['vrt_group']
        self.assertEqual(202, response.status_code)
        self.assertEqual('PLANNING', group['status'])
        self.assertEqual(
            f'{self.cloud.url}/compute/v2.1/os-vrt-groups/{group["id"]}',
            response.headers['Location'],
        )

    def test_flavors_are_known_by_id_and_name(self):
        flavor = self.cloud.nova('demo').flavors.find(name='m1.tiny')
        topology = {
            'members': {'a': base.member(), 'b': base.member(flavor.id)}
        }

        group = self.describe(topology, hold=False)

        self.assertEqual('PLANNED', group['status'], group)
        self.assertEqual(topology, group['topology'])

    def test_the_same_request_is_taken_once(self):
        wanted = {
            'topology': {'members': {'a': base.member()}},
            'client_token': 'once',
        }
        first, second = self.post(**wanted), self.post(**wanted)

        self.assertEqual(202, second.status_code, second.text)
        self.assertEqual(
            first.json()['vrt_group']['id'], second.json()['vrt_group']['id']
        )
        self.assertEqual(1, fixtures.rows()['vrt_groups'])

    def test_a_token_stands_for_one_request(self):
        topology = {'members': {'a': base.member()}}
        self.post(topology=topology, client_token='twice')

        response = self.post(
            topology=topology, client_token='twice', hold=False
        )

        self.assertEqual(409, response.status_code, response.text)
        self.assertEqual(1, fixtures.rows()['vrt_groups'])

    def test_a_request_is_known_again_whatever_has_become_of_its_group(self):
        wanted = {
            'name': 'as described',
            'topology': {'members': {'a': base.member()}},
            'hold': False,
            'client_token': 'again',
        }
        uuid = self.describe(**wanted)['id']

        self.act(uuid, 'hold')
        held = self.eventually(
            self.group, lambda now: now['status'] == 'HELD', uuid
        )
        self.assert_taken_once(uuid, wanted)
        self.put(uuid, held['generation'], count=2)
        self.assert_taken_once(uuid, wanted)
        CONF.set_override('default_expires_in', 61, 'vrt')
        self.addCleanup(CONF.clear_override, 'default_expires_in', 'vrt')
        self.assert_taken_once(uuid, wanted)

        other = self.post(**{**wanted, 'name': 'renamed'})

        self.assertEqual(409, other.status_code, other.text)
        self.assertIn('was used for another request', other.text)

    def put(self, uuid, generation, count):
        topology = {'members': {'a': base.member(count=count)}}
        revised = self.api().put(
            f'{base.GROUPS}/{uuid}',
            json={
                'vrt_group': {
                    'generation': generation,
                    'name': 'renamed',
                    'topology': topology,
                }
            },
        )
        self.assertEqual(202, revised.status_code, revised.text)
        self.eventually(
            self.group, lambda now: len(now['members']) == count, uuid
        )

    def assert_taken_once(self, uuid, wanted):
        again = self.post(**wanted)
        self.assertEqual(202, again.status_code, again.text)
        self.assertEqual(uuid, again.json()['vrt_group']['id'])

    def test_a_token_is_the_projects_own(self):
        topology = {'members': {'a': base.member()}}
        for user in ('demo', 'other'):
            response = self.post(user, topology=topology, client_token='mine')
            self.assertEqual(202, response.status_code, response.text)

    def test_the_same_request_sent_at_once_is_taken_once(self):
        wanted = {
            'topology': {'members': {'a': base.member(count=3)}},
            'client_token': 'at-once',
        }

        with futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: self.post(**wanted), range(8)))

        self.assertEqual([202] * 8, [each.status_code for each in answers])
        self.assertEqual(
            1, len({each.json()['vrt_group']['id'] for each in answers})
        )
        rows = fixtures.rows()
        self.assertEqual((1, 3), (rows['vrt_groups'], rows['vrt_members']))

    def test_who_comes_second_with_a_token_needs_no_quota_of_its_own(self):
        """The same request is taken, and held, while this one is checked."""
        self.limit(cores=1)
        wanted = {
            'topology': {'members': {'a': base.member()}},
            'client_token': 'second',
        }
        check, first = quota.check, []

        def overtaken(*args):
            if not first:
                first.append(None)
                first.append(self.held(**wanted))
            check(*args)

        self.patch(quota, 'check', overtaken)

        second = self.post(**wanted)

        self.assertEqual(202, second.status_code, second.text)
        self.assertEqual(first[1]['id'], second.json()['vrt_group']['id'])


def _described():
    """Return {table: how many rows} of what the API writes for a group."""
    rows = fixtures.rows()
    # The cloud's own key is made when domains are shown for the first time.
    for other in ('vrt_keys', 'vrt_leases', 'vrt_projects'):
        rows.pop(other, None)
    return rows
