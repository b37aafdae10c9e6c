# SPDX-License-Identifier: Apache-2.0
"""Does the Tempest plugin know every field that is shown, and no others?"""

import jsonschema
from nova.api.openstack import wsgi
from nova.objects import flavor
from oslo_utils import timeutils
from oslotest import base as test_base

from nova_groupext import objects
from nova_groupext.api.schemas import request_schemas
from nova_groupext.api.views import capabilities
from nova_groupext.api.views import faults
from nova_groupext.api.views import group_views
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.solver.language import schemas
from nova_groupext.solver.verify import shape
from tests import tempest_plugin as plugin
from tests.unit.api import base

SERVER = '0c1d4d3e-7f0a-4f53-8f2e-0a0d6a5b4c31'
SEAT = {'host': 'cmp-17', 'domains': {'host': 'cmp-17', 'zone': 'az1'}}
BROKEN = {'at': 'workers', 'policy': {'type': 'spread', 'scope': 'zone'}}
BOOT = objects.VRTBoot(
    request='req-1',
    status='booting',
    missing=2,
    created=1,
    faults={'a': faults.told(400, 'no key', timeutils.utcnow())},
    fault='no token',
    created_at=timeutils.utcnow(),
    updated_at=None,
    is_left=False,
)

EVENT = objects.VRTEvent(
    name='revision_undecided',
    request_id=None,
    user_id=None,
    project_id=None,
    message='It took too long.',
    created_at=timeutils.utcnow(),
)


def example(schema):
    """Return a value with every field that a JSON schema knows."""
    if 'const' in schema or 'enum' in schema:
        return schema.get('const', schema.get('enum', [None])[0])
    kind = schema['type']
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == 'object':
        named = schema.get('properties', {})
        return {name: example(each) for name, each in named.items()}
    return {'array': [], 'string': 'a', 'boolean': True}.get(kind, 1)


def refusal():
    """Return a planner's refusal with every kind of conflict and change."""
    changes = [example(each) for each in shape._CHANGES.values()]
    changes[-1]['together'] = changes[:-1]
    return {
        **example(shape._ANSWER),
        'violations': [],
        'cost': None,
        'conflict': [
            {**example(each), 'kind': kind}
            for kind, each in shape._CONFLICTS.items()
        ],
        'relaxations': [
            {**example(shape._RELAXATION), 'change': each} for each in changes
        ],
    }


def plan():
    """Return a planner's plan that breaks a soft policy."""
    broken = [example(shape._VIOLATION)]
    return {**example(shape._ANSWER), 'violations': broken}


def listed(schema, at='$'):
    """Yield the path of each field that a closed schema knows."""
    for name, each in schema.get('properties', {}).items():
        yield f'{at}.{name}'
        yield from listed(each, f'{at}.{name}')
    if 'items' in schema:
        yield from listed(schema['items'], f'{at}[]')
    if isinstance(schema.get('additionalProperties'), dict):
        yield from listed(schema['additionalProperties'], f'{at}.*')


def found(value, at='$'):
    """Yield the paths of a value; a key may be a name of the tenant's."""
    if isinstance(value, dict):
        for name, each in value.items():
            for key in (name, '*'):
                yield f'{at}.{key}'
                yield from found(each, f'{at}.{key}')
    elif isinstance(value, list):
        for each in value:
            yield from found(each, f'{at}[]')


class SchemaCase(test_base.BaseTestCase):
    def check(self, answer, *shown):
        """Hold answers against a schema, which has to know just their fields.

        :param answer: schema of one answer, as the plugin's clients have it
        """
        schema = answer['response_body']
        for each in shown:
            jsonschema.validate(each, schema, jsonschema.Draft4Validator)
        unseen = set(listed(schema)).difference(*map(found, shown))
        self.assertEqual(set(), unseen)


class TestGroups(SchemaCase, base.GroupCase):
    def setUp(self):
        super().setUp()
        self.view = group_views.GroupView()
        self.group = self.grown(self.stored(description='racks'))
        self.draft = self.stored(name='revised')
        self.draft.status = states.Group.REFUSED
        self.draft.fault, self.draft.fault_at = 'Nowhere.', None
        self.draft.members[0].server_uuid = SERVER
        self.plans = {
            self.group.id: self.plan(VRTPlan.PLACED, plan(), self.group),
            self.draft.id: self.plan(VRTPlan.REFUSED, refusal()),
        }
        growing = self.group.members[0].id
        self.reservations = {growing: VRTHold(host='cmp-18')}

    def grown(self, group):
        """Return a held group with a server that is to be resized."""
        group.status = states.Group.HELD
        group.fault, group.fault_at = 'It broke.', timeutils.utcnow()
        group.drift = [BROKEN]
        group.expires_at = timeutils.utcnow()
        member = group.members[0]
        member.fault, member.fault_at = 'It broke.', timeutils.utcnow()
        member.status = states.Member.ACTIVE
        member.server_uuid = SERVER
        small = flavor.Flavor(
            flavorid='s', name='small', vcpus=1, memory_mb=512
        )
        member.request = base.request(flavor=small.obj_to_primitive())
        member.server_flavor = {'id': 't', 'name': 'tiny'}
        return group

    def plan(self, status, answer, group=None):
        placement = {m.path: SEAT for m in group.members} if group else {}
        return VRTPlan(status=status, answer=answer, placement=placement)

    def req(self, query=''):
        path = f'/os-vrt-groups{query}'
        req = wsgi.Request.blank(path, base_url='http://nova/v2.1')
        req.environ['nova.context'] = self.context
        return req

    def details(self, sees_hosts):
        """Return a held group that is revised in vain, and a refused one."""
        refused = self.stored(name='refused')
        refused.status = states.Group.REFUSED
        plans = {**self.plans, refused.id: self.plans[self.draft.id]}
        groups = (self.group, self.draft, BOOT), (refused, None, None)
        return [
            self.view.detail(
                *(self.req(), group, plans, self.reservations, draft, boot),
                [EVENT],
                sees_hosts,
            )
            for group, draft, boot in groups
        ]

    def test_groups_are_known_in_full(self):
        for known, sees_hosts in self.viewers():
            shown = self.details(sees_hosts)
            for answer in (known.show, known.create, known.update):
                self.check(answer, *({'vrt_group': each} for each in shown))

    def viewers(self):
        return (plugin.groups.TENANT, False), (plugin.groups.ADMIN, True)

    def test_pages_are_known_in_full(self):
        for known, sees_hosts in self.viewers():
            summary = self.view.summary(self.req(), self.group)
            for answer, shown in (
                (known.list, [summary]),
                (known.list_detail, self.details(sees_hosts)),
            ):
                req = self.req(f'?limit={len(shown)}')
                self.check(answer, self.view.page(req, shown))

    def test_members_are_known_in_full(self):
        for known, sees_hosts in self.viewers():
            shown = group_views.members(
                self.group,
                self.plans[self.group.id],
                self.reservations,
                sees_hosts,
            )
            first = self.view.members_page(
                self.req('?limit=1'), self.group.uuid, shown
            )
            self.check(known.list_members, first, {'members': shown})
            self.check(known.show_member, {'member': shown[0]})

    def test_proposals_are_known_in_full(self):
        proposed = objects.VRTProposal(
            status='placed',
            fewest=True,
            moves={self.group.members[0].path: SEAT},
            created_at=timeutils.utcnow(),
        )
        for known, sees_hosts in self.viewers():
            shown = self.view.proposal(self.group, proposed, sees_hosts)
            self.check(known.proposal, {'proposal': shown})


class TestTerms(SchemaCase):
    def assertKnown(self, expected, schema):
        self.assertEqual(set(expected), set(schema['properties']))

    def test_capabilities_are_known_in_full(self):
        number = {'limit': -1, 'used': 0, 'held': 0}
        names = ('instances', 'cores', 'ram', 'held_members')
        self.check(
            plugin.capabilities.CAPABILITIES,
            capabilities.show(dict.fromkeys(names, number)),
        )

    def test_statuses_are_those_that_the_api_knows(self):
        listed = request_schemas.LIST['properties']['status']['enum']

        self.assertEqual(set(listed), set(plugin.groups.GROUP_STATUSES))
        self.assertEqual(
            {str(status) for status in states.Member},
            set(plugin.groups.MEMBER_STATUSES),
        )

    def test_topologies_have_the_parts_that_the_planner_knows(self):
        node = plugin.topology.with_node({})['definitions']['node']
        self.assertKnown(schemas.NODE['properties'], node)
        self.assertKnown(
            schemas.RELATIONSHIP['properties'],
            plugin.topology.RELATIONSHIP,
        )
        member = request_schemas.MEMBER['properties'] | schemas.BESIDES
        self.assertKnown(member, plugin.topology.MEMBER)

    def test_policies_have_the_options_that_the_planner_knows(self):
        policies = schemas.GROUP_POLICIES
        options = set().union(*(p['properties'] for p in policies.values()))

        self.assertKnown(options, plugin.topology.POLICY)
        self.assertEqual(set(policies), set(plugin.topology.POLICY_TYPES))
