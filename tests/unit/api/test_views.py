# SPDX-License-Identifier: Apache-2.0
"""Views of groups: fields for owners, and fields for admins only."""

import datetime
import hashlib
import hmac

from nova.api.openstack import wsgi
from nova.objects import flavor
from oslo_serialization import jsonutils

from nova_groupext.api.views import capabilities
from nova_groupext.api.views import faults
from nova_groupext.api.views import group_views
from nova_groupext.api.views import member_views
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.plan import VRTPlan
from tests.toys import fixture
from tests.unit.api import base

HOST, NODE, RACK, PROVIDER = 'cmp-17', 'node-17', 'rack-4', 'the-provider'
PLACEMENT = {
    'host': HOST,
    'node': NODE,
    'provider': PROVIDER,
    'allocations': {PROVIDER: {'resources': {'VCPU': 1}}},
    'mappings': {'': [PROVIDER]},
    'domains': {'host': NODE, 'rack': RACK, 'zone': 'az1'},
}
SOFT = {'type': 'affinity', 'scope': 'zone', 'strict': False}
ANSWER = {
    'alternative': {},
    'unplaced': [],
    'cost': {'soft': 98765, 'bound': 98765, 'preference': 1},
    'violations': [{'at': '', 'policy': SOFT, 'cost': 98765, 'host': HOST}],
    'conflict': [],
    'minimal': True,
    'relaxations': [],
    'stats': {'seconds': 0.1, 'stage': 'exact-98765'},
}
CONFLICT = {
    'kind': 'policy',
    'at': '',
    'policy': SOFT,
    'code': 'vrt.affinity',
    'text': 'zone affinity of the group',
}
REASON = {'code': 'vrt.capacity', 'text': 'There is not enough free capacity.'}
SOFTER = {'at': '', 'policy': 'affinity', 'scope': 'zone', 'strict': False}
FEWER = {'at': '', 'members': 'master', 'min_count': 0}
OF_CLASS = {'min_counts': {'master': 0, 'workers/worker': 2}}
RELAXATIONS = [
    {'change': SOFTER, 'text': 'fits if the zone affinity is soft'},
    {'change': OF_CLASS, 'text': 'fits with 2 of 4 members like master'},
    {'change': {'together': [SOFTER, FEWER]}, 'text': 'fits without master'},
]
REFUSAL = {
    **ANSWER,
    'violations': [],
    'conflict': [{**CONFLICT, 'host': HOST}],
    'reason': {**REASON, 'host': HOST},
    'relaxations': [
        {**RELAXATIONS[0], 'free': 98765},
        {**RELAXATIONS[1], 'change': {**OF_CLASS, 'class': 'class-98765'}},
        {
            **RELAXATIONS[2],
            'change': {'together': [{**SOFTER, 'host': HOST}, FEWER]},
        },
    ],
}
# What no tenant may read anywhere.
SECRETS = (HOST, NODE, RACK, PROVIDER, '98765')


class TestGroupView(base.GroupTestCase):
    def setUp(self):
        super().setUp()
        self.view = group_views.GroupView()
        self.group = self.store_group()

    def plan(self, status=VRTPlan.PLACED, answer=ANSWER):
        paths = [member.path for member in self.group.members]
        plan = VRTPlan(
            group_id=self.group.id,
            status=status,
            placements=dict.fromkeys(paths, PLACEMENT)
            if status == 'placed'
            else {},
            answer=answer,
        )
        plan.create(self.context)
        if status == VRTPlan.PLACED:
            self.group.status = states.Group.PLANNED
        return plan

    def shown(self, plan, may_see_hosts=False):
        plans = {self.group.id: plan} if plan else {}
        return self.view.detail(
            *(self.req(), self.group, plans, {}, None, None, []),
            may_see_hosts,
        )

    def req(self, path='/os-vrt-groups'):
        req = wsgi.Request.blank(path, base_url='http://nova/v2.1')
        req.environ['nova.context'] = self.context
        return req

    def test_owner_sees_domains_as_opaque_ids(self):
        CONF.set_override('domain_key', 'a key', 'vrt')
        self.addCleanup(CONF.clear_override, 'domain_key', 'vrt')
        group = self.shown(self.plan())

        worker = group['members'][1]
        rack, host = (
            hmac.new(
                b'a key', f'{base.OWNER}{where}'.encode(), hashlib.sha224
            ).hexdigest()
            for where in (f'rack{RACK}', f'host{NODE}')
        )
        self.assertEqual(
            {
                'path': 'workers/worker-0',
                'status': 'TENTATIVE',
                'server_id': None,
                'expires_at': None,
                'domains': {'host': host, 'rack': rack, 'zone': 'az1'},
                'fault': None,
                'resize': None,
                'pending': None,
                'successor': None,
                'grown': False,
            },
            worker,
        )

    def test_member_is_pending_only_while_it_has_a_server(self):
        member = self.group.members[0]
        small = flavor.Flavor(name='small', vcpus=1, memory_mb=512)
        request = base.request(flavor=small.obj_to_primitive())
        member.described.resolved_request = request
        member.server_request = {**request, 'image_id': 'former'}

        shown = []
        for status in (states.Member.ACTIVE, states.Member.TENTATIVE):
            member.status = status
            shown.append(self.shown(None)['members'][0]['pending'])

        change = {'from': {'image': 'former'}, 'to': {'image': base.IMAGE}}
        self.assertEqual([change, None], shown)

    def test_a_fault_has_a_code_and_a_time(self):
        for part, status, code in (
            (self.group, states.Group.UNDECIDED, 503),
            (self.group, states.Group.ERROR, 500),
            (self.group.members[0], states.Member.FAILED, 500),
            (self.group.members[0], states.Member.RELEASED, 410),
        ):
            part.status, part.fault = status, 'It broke.'
            part.fault_at = datetime.datetime(2026, 11, 25, 8, 30)

            self.assertEqual(
                {
                    'code': code,
                    'message': 'It broke.',
                    'created': '2026-11-25T08:30:00Z',
                },
                faults.view_of(part),
            )
        group = self.shown(None)
        self.assertEqual(500, group['fault']['code'])
        self.assertEqual(410, group['members'][0]['fault']['code'])

    def test_owner_sees_no_secret(self):
        plans = (
            self.plan(),
            self.plan(VRTPlan.REFUSED, REFUSAL),
            self.plan(VRTPlan.UNDECIDED, REFUSAL),
        )
        for plan in plans:
            for status in states.Group:
                self.group.status = status
                text = jsonutils.dumps(self.shown(plan))
                leaked = [secret for secret in SECRETS if secret in text]
                self.assertEqual([], leaked, (plan.status, status))

    def test_an_admin_sees_hosts_costs_and_statistics(self):
        group = self.shown(self.plan(), may_see_hosts=True)

        self.assertEqual({HOST}, {m['host'] for m in group['members']})
        self.assertEqual(ANSWER['cost'], group['cost'])
        self.assertEqual(ANSWER['stats'], group['stats'])
        self.assertEqual(ANSWER['violations'], group['violations'])

    def test_domain_ids_differ_between_projects(self):
        def domain(project_id):
            return member_views.domain_id(project_id, 'rack', RACK)

        self.assertEqual(domain('one'), domain('one'))
        self.assertNotEqual(domain('one'), domain('other'))

    def test_domain_ids_differ_between_clouds(self):
        ids = set()
        for key in ('one', 'other'):
            CONF.set_override('domain_key', key, 'vrt')
            self.addCleanup(CONF.clear_override, 'domain_key', 'vrt')
            ids.add(member_views.domain_id('project', 'rack', RACK))

        self.assertEqual(2, len(ids))

    def test_a_group_without_a_plan_is_shown(self):
        group = self.shown(None, may_see_hosts=True)

        self.assertEqual('PLANNING', group['status'])
        self.assertEqual([{}] * 4, [m['domains'] for m in group['members']])
        self.assertEqual([], group['violations'])
        self.assertIsNone(group['refusal'])
        self.assertIsNone(group['cost'])

    def test_refused_group_without_a_plan_is_shown(self):
        self.group.status = states.Group.REFUSED

        self.assertIsNone(self.shown(None)['refusal'])

    def test_plan_of_an_undecided_group_shows_no_hosts(self):
        plan = self.plan()
        self.group.status = states.Group.UNDECIDED

        members = self.shown(plan, may_see_hosts=True)['members']

        self.assertEqual({None}, {member['host'] for member in members})

    def test_released_member_shows_no_domains(self):
        self.group.members[0].status = states.Member.RELEASED

        master, worker = self.shown(self.plan())['members'][:2]

        self.assertEqual({}, master['domains'])
        self.assertNotEqual({}, worker['domains'])

    def test_a_refusal_is_shown_while_the_group_is_refused(self):
        plan = self.plan(VRTPlan.REFUSED, REFUSAL)
        self.assertIsNone(self.shown(plan)['refusal'])

        self.group.status = states.Group.REFUSED

        self.assertEqual(
            {
                'conflict': [CONFLICT],
                'minimal': True,
                'reason': REASON,
                'relaxations': RELAXATIONS,
            },
            self.shown(plan)['refusal'],
        )

    def test_soft_violations_are_shown_without_their_cost(self):
        self.assertEqual(
            [{'at': '', 'policy': SOFT}],
            self.shown(self.plan())['violations'],
        )

    def test_times_are_shown_in_utc(self):
        created = self.shown(None)['created_at']

        self.assertEqual('Z', created[-1])

    def test_links_have_the_form_of_novas_links(self):
        links = self.view.summary(self.req(), self.group)['links']

        self.assertEqual(
            [
                f'http://nova/v2.1/os-vrt-groups/{self.group.uuid}',
                f'http://nova/os-vrt-groups/{self.group.uuid}',
            ],
            [link['href'] for link in links],
        )

    def test_page_with_a_marker_links_to_the_next(self):
        req = self.req('/os-vrt-groups/detail?limit=1&name=analytics')
        shown = [self.view.summary(req, self.group)]

        page = self.view.page(req, shown, 'a:b', 'os-vrt-groups/detail')

        [link] = page['vrt_groups_links']
        self.assertEqual(
            'http://nova/v2.1/os-vrt-groups/detail?limit=1'
            '&name=analytics&marker=a%3Ab',
            link['href'],
        )


class TestCapabilities(base.GroupTestCase):
    def test_every_parameter_has_a_default_or_is_required(self):
        policies = capabilities.view({})['capabilities']['policies']

        self.assertEqual(
            ['max_skew', 'min_domains', 'scope', 'strict', 'weight'],
            sorted(policies['spread']),
        )
        self.assertEqual(
            {'scope', 'min_members'},
            {n for n, p in policies['survive'].items() if 'required' in p},
        )
        self.assertEqual(2, policies['spread']['min_domains']['default'])
        self.assertIs(True, policies['affinity']['strict']['default'])

    def test_policy_types_of_other_packages_are_listed(self):
        self.useFixture(fixture.ToyPolicies())

        policies = capabilities.view({})['capabilities']['policies']

        self.assertEqual({'scope', 'strict', 'weight'}, {*policies['leader']})
        self.assertEqual(
            {'type': 'integer', 'minimum': 1, 'default': 2},
            {
                key: value
                for key, value in policies['batches']['size_of_batch'].items()
                if key != 'maximum'
            },
        )

    def test_scopes_are_the_levels_of_this_cloud(self):
        CONF.set_override('topology_levels', ['rack:rack'], 'vrt')
        self.addCleanup(CONF.clear_override, 'topology_levels', 'vrt')

        shown = capabilities.view({})['capabilities']

        self.assertEqual(['host', 'rack', 'zone'], shown['scopes'])
        self.assertEqual(1000, shown['limits']['max_members'])
