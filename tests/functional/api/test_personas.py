# SPDX-License-Identifier: Apache-2.0
"""Every call by every persona: the default policy rules."""

import fixtures
import requests

from nova_groupext import objects
from nova_groupext.cloud import accounts
from nova_groupext.objects import states
from tests.functional import base as functional
from tests.functional.api import base

# In Keystone roles imply others.
READER = ('reader',)
MEMBER = ('member', *READER)
MANAGER = ('manager', *MEMBER)
ADMIN = ('admin', *MANAGER)
# The groups are those of the project "demo".
PERSONAS = (
    accounts.Account('own admin', 'demo', ADMIN),
    accounts.Account('own manager', 'demo', MANAGER),
    accounts.Account('own member', 'demo', MEMBER),
    accounts.Account('own reader', 'demo', READER),
    accounts.Account('own service', 'demo', ('service',)),
    accounts.Account('own nobody', 'demo', ()),
    accounts.Account('foreign admin', 'other', ADMIN),
    accounts.Account('foreign manager', 'other', MANAGER),
    accounts.Account('foreign member', 'other', MEMBER),
    accounts.Account('foreign reader', 'other', READER),
    accounts.Account('foreign service', 'service', ('service',)),
    accounts.Account('foreign nobody', 'other', ()),
    accounts.Account('system admin', '', ADMIN, system=True),
    accounts.Account('system reader', '', READER, system=True),
)

ADMINS = {'own admin', 'foreign admin'}
OWN_MEMBERS = {*ADMINS, 'own manager', 'own member'}
OWN_READERS = {*OWN_MEMBERS, 'own reader'}
# Foreign personas send the calls on a project to their own project.
MEMBERS = {*OWN_MEMBERS, 'foreign manager', 'foreign member'}
READERS = {*MEMBERS, 'own reader', 'foreign reader'}

BOOT = {'boot': {'servers': {'default': {'key_name': 'of nobody'}}}}
ALONE = {**base.ONE, 'policies': [{'type': 'exclusive', 'scope': 'host'}]}


def _create(topology=base.ONE, **values):
    return {'vrt_group': {'name': 'mine', 'topology': topology, **values}}


def _update(group, _server):
    generation = group.definition_generation
    return {'vrt_group': {'generation': generation, 'topology': SOME}}


def _adopt(group, server):
    return {'adopt': {'servers': {group.members[0].path: server}}}


def _add(group, _server):
    """Return an addition of a member whose name is new to the group."""
    path = f'm{len(group.members)}'
    return {'member': {'path': path, **functional.member()}}


# Name, method, path, body and who is answered with a success.
OF_A_PROJECT = (
    ('list', 'GET', '', None, READERS),
    ('detail', 'GET', '/detail', None, READERS),
    ('capabilities', 'GET', '/capabilities', None, READERS),
    ('list all', 'GET', '?all_projects=1', None, ADMINS),
    ('detail all', 'GET', '/detail?all_projects=1', None, ADMINS),
    ('create', 'POST', '', _create(), MEMBERS),
    ('what-if', 'POST', '', _create(hold=False), MEMBERS),
    ('exclusive', 'POST', '', _create(ALONE, hold=False), ADMINS),
)
# In a path: the last member of the group, which may be removed.
LAST = '/members/{path:.+}'
SOME = {'members': {'a': functional.member(count=9)}}

# The same of a group, and the status that it needs; what is sent may depend on
# the VRTGroup and the uuid of a server.
OF_A_GROUP = (
    ('show', 'GET', '', None, OWN_READERS, states.Group.HELD),
    ('update', 'PUT', '', _update, OWN_MEMBERS, states.Group.PLANNED),
    ('members', 'GET', '/members', None, OWN_READERS, 'HELD'),
    ('member', 'GET', LAST, None, OWN_READERS, 'HELD'),
    ('add', 'POST', '/members', _add, OWN_MEMBERS, 'PLANNED'),
    ('remove', 'DELETE', LAST, None, OWN_MEMBERS, 'PLANNED'),
    ('propose', 'POST', '/action', {'propose': None}, OWN_MEMBERS, 'HELD'),
    ('proposal', 'GET', '/proposal', None, OWN_MEMBERS, 'HELD'),
    ('hold', 'POST', '/action', {'hold': None}, OWN_MEMBERS, 'PLANNED'),
    ('extend', 'POST', '/action', {'extend': None}, OWN_MEMBERS, 'HELD'),
    ('release', 'POST', '/action', {'release': None}, OWN_MEMBERS, 'HELD'),
    ('replan', 'POST', '/action', {'replan': None}, OWN_MEMBERS, 'PLANNED'),
    # Nova refuses the key, so that no server is left.
    ('boot', 'POST', '/action', BOOT, OWN_MEMBERS - {'foreign admin'}, 'HELD'),
    ('adopt', 'POST', '/action', _adopt, OWN_MEMBERS, 'PLANNED'),
    ('delete', 'DELETE', '', None, OWN_MEMBERS, states.Group.HELD),
)


class PersonaCase(base.ApiTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.cloud.accounts.ACCOUNTS',
                (*accounts.ACCOUNTS, *PERSONAS),
            )
        )

    def send(self, account, method, path, body=None):
        return requests.request(
            method,
            f'{self.cloud.url}/compute/v2.1{functional.GROUPS}{path}',
            json=body,
            headers={'X-Auth-Token': account.token},
            timeout=60,
        )

    def outcome(self, account, *request):
        """Return the code of an answer; a refusal must not write anything."""
        before = self.stored_rows()
        code = self.send(account, *request).status_code
        if code >= 400:
            self.assertEqual(before, self.stored_rows(), request)
        return code


class TestPersonas(PersonaCase):
    def test_calls_on_a_project_are_allowed_by_role(self):
        for name, method, path, body, allowed in OF_A_PROJECT:
            success = 202 if method == 'POST' else 200
            expected = {
                account.name: success if account.name in allowed else 403
                for account in PERSONAS
            }

            told = {
                account.name: self.outcome(account, method, path, body)
                for account in PERSONAS
            }

            self.assertEqual(expected, told, name)

    def test_calls_on_a_group_are_allowed_by_role_and_project(self):
        server = self.boot('m1.tiny').id
        for name, method, path, body, allowed, status in OF_A_GROUP:
            group = self.store_group(topology=SOME)
            success = 200 if method == 'GET' else 202
            # Personas of other projects do not find the group.
            expected = {
                account.name: success
                if account.name in allowed
                else 403
                if account.project == 'demo'
                else 404
                for account in PERSONAS
            }

            told = {}
            for account in PERSONAS:
                self.set_status(group, status)
                now = objects.VRTGroup.get(self.context, group)
                last = now.members[-1].path
                objects.VRTProposal.request(self.context, now, 'placed')
                told[account.name] = self.outcome(
                    account,
                    method,
                    f'/{group}{path.replace("{path:.+}", last)}',
                    body(now, server) if callable(body) else body,
                )
                self.booted(now)

            self.assertEqual(expected, told, name)

    def booted(self, group):
        """Wait until no request boots a group."""
        self.eventually(
            lambda: [
                *objects.VRTBoot.by_group(self.context, [group.id]).values()
            ],
            lambda boots: all(each.status != 'booting' for each in boots),
        )

    def test_only_admins_see_hosts(self):
        group = self.store_group()

        seen = set()
        for account in PERSONAS:
            answer = self.send(account, 'GET', f'/{group}').json()
            [member] = answer.get('vrt_group', {}).get('members', [{}])
            if 'host' in member:
                seen.add(account.name)

        self.assertEqual(ADMINS, seen)

    def test_every_action_and_route_has_a_persona_test(self):
        from nova_groupext.api import vrt_groups
        from nova_groupext.api import vrt_members
        from nova_groupext.api.schemas import request_schemas

        asked = {
            (method, f'{prefix}{path}'.partition('?')[0])
            for prefix, calls in (('', OF_A_PROJECT), ('/{id}', OF_A_GROUP))
            for _name, method, path, *_rest in calls
        }
        routes = {
            (
                method,
                path.removeprefix(functional.GROUPS).replace('group_id', 'id'),
            )
            for path, methods in (*vrt_groups.ROUTES, *vrt_members.ROUTES)
            for method in methods
        }

        self.assertEqual(routes, asked)
        self.assertEqual(
            set(request_schemas.ACTION['properties']),
            {
                name
                for name, _method, path, *_rest in OF_A_GROUP
                if path == '/action'
            },
        )


class TestOverrides(PersonaCase):
    """Rules that an operator writes into Nova's policy file."""

    SHARES_CLOUD = False

    RULES = """\
"os_compute_api:os-vrt-groups:create:what_if": "rule:context_is_admin"
"os_compute_api:os-vrt-groups:show:placement": "role:member"
"os_compute_api:os-vrt-groups:extend": "role:reader and \
project_id:%(project_id)s"
"""

    def test_rules_of_the_policy_file_replace_the_defaults(self):
        (self.cloud.state / 'policy.yaml').write_text(self.RULES)
        by_name = {account.name: account for account in PERSONAS}
        group = self.store_group(states.Group.HELD)

        for name, expected in (
            ('own member', (202, 403, True, 202)),
            ('own reader', (403, 403, False, 202)),
            ('own admin', (202, 202, True, 202)),
            ('foreign admin', (202, 202, True, 404)),
        ):
            account = by_name[name]
            shown = self.send(account, 'GET', f'/{group}').json()
            [member] = shown['vrt_group']['members']
            told = (
                self.outcome(account, 'POST', '', _create()),
                self.outcome(account, 'POST', '', _create(hold=False)),
                'host' in member,
                self.outcome(
                    account, 'POST', f'/{group}/action', {'extend': None}
                ),
            )
            self.assertEqual(expected, told, name)
        # The rule for "extend" also covers an update of the expiry.
        self.set_status(group, states.Group.HELD)
        self.assertEqual(
            [403, 403, 202, 202],
            [
                self.outcome(
                    *(by_name['foreign admin'], 'PUT', f'/{group}'),
                    self.revised(group, **values),
                )
                for values in (
                    {'expires_in': 7200},
                    {'expires_in': 7200, 'topology': base.ONE},
                    {'name': 'new'},
                    {'topology': base.ONE},
                )
            ],
        )

    def revised(self, uuid, **values):
        """Return the body of a PUT."""
        generation = self.group(uuid)['generation']
        return {'vrt_group': {'generation': generation, **values}}
