# SPDX-License-Identifier: Apache-2.0
"""Schemas of the Tempest plugin: exactly the fields that the API shows."""

import jsonschema
from nova.api.openstack import wsgi
from nova.objects import flavor
from oslo_utils import timeutils
from oslo_utils.fixture import uuidsentinel as uuids
from oslotest import base as test_base

from nova_groupext import objects
from nova_groupext.api.schemas import request_schemas
from nova_groupext.api.views import capabilities
from nova_groupext.api.views import faults
from nova_groupext.api.views import group_views
from nova_groupext.api.views import member_views
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.solver.language import schemas
from nova_groupext.solver.verify import answer_schema
from tests import groups
from tests import tempest_plugin as plugin
from tests.unit.api import base

SERVER = '0c1d4d3e-7f0a-4f53-8f2e-0a0d6a5b4c31'
DESTINATION = {'host': 'cmp-17', 'domains': {'host': 'cmp-17', 'zone': 'az1'}}
BROKEN = {'at': 'workers', 'policy': {'type': 'spread', 'scope': 'zone'}}
BOOT = objects.VRTBoot(
    request_id='req-1',
    status='booting',
    missing=2,
    created=1,
    faults={'a': faults.view(400, 'no key', timeutils.utcnow())},
    fault='no token',
    created_at=timeutils.utcnow(),
    updated_at=None,
    is_abandoned=False,
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
    changes = [
        example(each) for each in answer_schema._RELAXATION_CHANGES.values()
    ]
    changes[-1]['together'] = changes[:-1]
    return {
        **example(answer_schema._ANSWER),
        'violations': [],
        'cost': None,
        'conflict': [
            {**example(each), 'kind': kind}
            for kind, each in answer_schema._CONFLICT_ITEMS.items()
        ],
        'relaxations': [
            {**example(answer_schema._RELAXATION), 'change': each}
            for each in changes
        ],
    }


def plan():
    """Return a planner's plan that breaks a soft policy."""
    broken = [example(answer_schema._VIOLATION)]
    return {**example(answer_schema._ANSWER), 'violations': broken}


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
    """Yield the paths of a value; ``*`` may stand for each key."""
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
        """Check that a schema accepts answers and has exactly their fields.

        :param answer: schema of one answer, as the plugin's clients have it
        """
        schema = answer['response_body']
        for each in shown:
            jsonschema.validate(each, schema, jsonschema.Draft4Validator)
        unseen = set(listed(schema)).difference(*map(found, shown))
        self.assertEqual(set(), unseen)


class TestGroups(SchemaCase, base.GroupTestCase):
    def setUp(self):
        super().setUp()
        self.view = group_views.GroupView()
        self.group = self.resizing(self.store_group(description='racks'))
        self.draft = self.store_group(name='revised')
        self.draft.status = states.Group.REFUSED
        self.draft.fault, self.draft.fault_at = 'Nowhere.', None
        self.draft.members[0].server_uuid = SERVER
        self.plans = {
            self.group.id: self.plan(VRTPlan.PLACED, plan(), self.group),
            self.draft.id: self.plan(VRTPlan.REFUSED, refusal()),
        }
        member_id = self.group.members[0].id
        self.reservations = {member_id: VRTHold(host='cmp-18')}

    def resizing(self, group):
        """Return a held group with a server that is to be resized."""
        group.status = states.Group.HELD
        group.fault, group.fault_at = 'It broke.', timeutils.utcnow()
        group.drift = [BROKEN]
        group.expires_at = timeutils.utcnow()
        member = group.members[0]
        member.fault, member.fault_at = 'It broke.', timeutils.utcnow()
        member.status = states.Member.ACTIVE
        member.server_uuid = SERVER
        small, tiny = (
            flavor.Flavor(flavorid=name, name=name, vcpus=1, memory_mb=512)
            for name in ('small', 'tiny')
        )
        member.described.resolved_request = base.request(
            flavor=small.obj_to_primitive()
        )
        member.server_request = base.request(
            'tiny',
            flavor=tiny.obj_to_primitive(),
            image_id=SERVER,
            availability_zone='az2',
        )
        successor = groups.member('successor', member.described)
        successor.succeeds = member.path
        successor.status, successor.server_uuid = states.Member.ACTIVE, SERVER
        successor.reserved_for = None
        group.members.append(successor)
        return group

    def plan(self, status, answer, group=None):
        placement = groups.placement(uuids.provider, 1)
        placements = (
            dict.fromkeys((m.path for m in group.members), placement)
            if group
            else {}
        )
        return VRTPlan(status=status, answer=answer, placements=placements)

    def req(self, query=''):
        path = f'/os-vrt-groups{query}'
        req = wsgi.Request.blank(path, base_url='http://nova/v2.1')
        req.environ['nova.context'] = self.context
        return req

    def details(self, may_see_hosts):
        """Return a held group with a refused revision, and a refused one."""
        refused = self.store_group(name='refused')
        refused.status = states.Group.REFUSED
        plans = {**self.plans, refused.id: self.plans[self.draft.id]}
        groups = (self.group, self.draft, BOOT), (refused, None, None)
        return [
            self.view.detail(
                *(self.req(), group, plans, self.reservations, draft, boot),
                [EVENT],
                may_see_hosts,
            )
            for group, draft, boot in groups
        ]

    def test_group_schemas_have_exactly_the_fields_shown(self):
        for known, may_see_hosts in self.viewers():
            shown = self.details(may_see_hosts)
            for answer in (known.show, known.create, known.update):
                self.check(answer, *({'vrt_group': each} for each in shown))

    def viewers(self):
        return (plugin.groups.TENANT, False), (plugin.groups.ADMIN, True)

    def test_page_schemas_have_exactly_the_fields_shown(self):
        for known, may_see_hosts in self.viewers():
            summary = self.view.summary(self.req(), self.group)
            for answer, shown in (
                (known.list, [summary]),
                (known.list_detail, self.details(may_see_hosts)),
            ):
                page = self.view.page(self.req(), shown, shown[-1]['id'])
                self.check(answer, page)

    def test_answer_with_an_unlisted_or_missing_field_is_refused(self):
        summary = self.view.summary(self.req(), self.group)
        less = dict(summary)
        del less['status']

        for known, _may_see_hosts in self.viewers():
            schema = known.list['response_body']
            jsonschema.validate({'vrt_groups': [summary]}, schema)
            for wrong in (less, {**summary, 'host': 'cmp-17'}):
                self.assertRaises(
                    jsonschema.ValidationError,
                    *(jsonschema.validate, {'vrt_groups': [wrong]}, schema),
                )

    def test_member_schemas_have_exactly_the_fields_shown(self):
        for known, may_see_hosts in self.viewers():
            shown = member_views.member_views(
                self.group,
                self.plans[self.group.id],
                self.reservations,
                may_see_hosts,
            )
            first = self.view.members_page(
                self.req('?limit=1'), self.group.uuid, shown
            )
            self.check(known.list_members, first, {'members': shown})
            self.check(known.show_member, {'member': shown[0]})

    def test_proposal_schema_has_exactly_the_fields_shown(self):
        proposed = objects.VRTProposal(
            status='placed',
            fewest=True,
            moves={self.group.members[0].path: DESTINATION},
            created_at=timeutils.utcnow(),
        )
        for known, may_see_hosts in self.viewers():
            shown = self.view.proposal(self.group, proposed, may_see_hosts)
            self.check(known.proposal, {'proposal': shown})


class TestTerms(SchemaCase):
    def assertKnown(self, expected, schema):
        self.assertEqual(set(expected), set(schema['properties']))

    def test_capabilities_schema_has_exactly_the_fields_shown(self):
        number = {'limit': -1, 'used': 0, 'held': 0}
        names = ('instances', 'cores', 'ram', 'held_members')
        self.check(
            plugin.capabilities.CAPABILITIES,
            capabilities.view(dict.fromkeys(names, number)),
        )

    def test_statuses_equal_those_of_the_api(self):
        listed = request_schemas.LIST['properties']['status']['enum']

        self.assertEqual(set(listed), set(plugin.groups.GROUP_STATUSES))
        self.assertEqual(
            {*map(str, states.Member), states.LEAVING},
            set(plugin.groups.MEMBER_STATUSES),
        )

    def test_topology_schema_equals_the_planners(self):
        node = plugin.topology.with_node({})['definitions']['node']
        self.assertKnown(schemas.NODE['properties'], node)
        self.assertKnown(
            schemas.RELATIONSHIP['properties'],
            plugin.topology.RELATIONSHIP,
        )
        member = {
            **request_schemas.MEMBER['properties'],
            **schemas.COUNTS,
            **schemas.POLICIES,
        }
        self.assertKnown(member, plugin.topology.MEMBER)

    def test_relationship_schema_accepts_parts_of_other_groups(self):
        self.assertKnown(
            schemas.OUTER_PART['properties'], plugin.topology.OUTER_PART
        )
        jsonschema.validate(
            {'between': ['web', {'group': SERVER, 'path': 'db'}]},
            plugin.topology.RELATIONSHIP,
        )

    def test_policy_options_equal_the_planners(self):
        policies = schemas.group_policies()
        options = set().union(*(p['properties'] for p in policies.values()))

        self.assertKnown(options, plugin.topology.POLICY)
        self.assertEqual(set(policies), set(plugin.topology.POLICY_TYPES))
