# SPDX-License-Identifier: Apache-2.0
"""POST of a group: accepted and refused bodies, and retries with tokens."""

from concurrent import futures

from nova_groupext import quota
from nova_groupext.cloud import image
from nova_groupext.conf import CONF
from tests import fixtures
from tests.functional import base

CIRROS = image.image_id('cirros')
NOBODYS_IMAGE = '7f3a9d0c-0b0e-4d3f-8d8e-0a8f2b1c9d10'
WHERE = '$.vrt_group.topology.members.a'

# Description of the member `a`, JSON path of the error, and its reason.
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
        '"cirros" is not a UUID; an image is identified by its id, not by '
        'its name',
    ),
    (
        {'image': 'http://elsewhere/v2/images/' + CIRROS},
        f'{WHERE}.image',
        'is not a UUID',
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
    ({'flavor': 'vrt-numa'}, WHERE, 'requests NUMA nodes'),
    (
        {'flavor': 'vrt-gold'},
        f'{WHERE}.flavor',
        'requests numbered resource groups',
    ),
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
        # Groups of the previous test are purged a little after its end.
        self.eventually(_described, lambda rows: not rows)

    def refused(self, code, response):
        """Return the message of a refusal, and expect no row of it."""
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

    def test_private_flavor_is_accepted_from_an_admin(self):
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

    def test_other_content_types_are_refused(self):
        response = self.api().post(
            base.GROUPS, data=b'{}', headers={'Content-Type': 'text/html'}
        )

        self.refused(415, response)

    def test_exclusive_policy_needs_its_policy_rule(self):
        topology = {
            'members': {'a': base.member()},
            'policies': [{'type': 'exclusive', 'scope': 'host'}],
        }

        for hold in (True, False):
            response = self.post('demo', topology=topology, hold=hold)
            self.assertIn('create:exclusive', self.refused(403, response))
        whatif = self.describe(topology, 'admin', hold=False)

        self.assertEqual('PLANNED', whatif['status'], whatif)

    def test_answer_has_the_group_and_its_location(self):
        response = self.post(topology={'members': {'a': base.member()}})

        group = response.json()['vrt_group']
        self.assertEqual(202, response.status_code)
        self.assertEqual('PLANNING', group['status'])
        self.assertEqual(
            f'{self.cloud.url}/compute/v2.1/os-vrt-groups/{group["id"]}',
            response.headers['Location'],
        )

    def test_flavors_are_accepted_by_id_and_name(self):
        flavor = self.cloud.nova('demo').flavors.find(name='m1.tiny')
        topology = {
            'members': {'a': base.member(), 'b': base.member(flavor.id)}
        }

        group = self.describe(topology, hold=False)

        self.assertEqual('PLANNED', group['status'], group)
        self.assertEqual(topology, group['topology'])

    def test_retry_with_a_client_token_makes_one_group(self):
        wanted = {
            'topology': {'members': {'a': base.member()}},
            'client_token': 'once',
        }
        first, second = self.post(**wanted), self.post(**wanted)

        self.assertEqual(202, second.status_code, second.text)
        self.assertEqual(
            first.json()['vrt_group']['id'], second.json()['vrt_group']['id']
        )
        self.assertEqual(1, fixtures.row_counts()['vrt_groups'])

    def test_client_token_of_another_request_is_a_conflict(self):
        topology = {'members': {'a': base.member()}}
        self.post(topology=topology, client_token='twice')

        response = self.post(
            topology=topology, client_token='twice', hold=False
        )

        self.assertEqual(409, response.status_code, response.text)
        self.assertEqual(1, fixtures.row_counts()['vrt_groups'])

    def test_retry_is_recognised_after_its_group_has_changed(self):
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
        self.assertIn('was already used for a different request', other.text)

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

    def test_projects_may_use_the_same_client_token(self):
        topology = {'members': {'a': base.member()}}
        for user in ('demo', 'other'):
            response = self.post(user, topology=topology, client_token='mine')
            self.assertEqual(202, response.status_code, response.text)

    def test_concurrent_retries_make_one_group(self):
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
        rows = fixtures.row_counts()
        self.assertEqual((1, 3), (rows['vrt_groups'], rows['vrt_members']))

    def test_retry_needs_no_quota_of_its_own(self):
        """The first request is held while the retry checks the quota."""
        self.set_quota(cores=1)
        wanted = {
            'topology': {'members': {'a': base.member()}},
            'client_token': 'second',
        }
        check, first = quota.check, []

        def overtaken(*args):
            if not first:
                first.append(None)
                first.append(self.hold_group(**wanted))
            check(*args)

        self.patch(quota, 'check', overtaken)

        second = self.post(**wanted)

        self.assertEqual(202, second.status_code, second.text)
        self.assertEqual(first[1]['id'], second.json()['vrt_group']['id'])


def _described():
    """Return {table: number of rows} of a group's tables."""
    rows = fixtures.row_counts()
    # The cloud's own key is made when domains are shown for the first time.
    for other in ('vrt_keys', 'vrt_leases', 'vrt_project_locks'):
        rows.pop(other, None)
    return rows
