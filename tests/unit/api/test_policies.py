# SPDX-License-Identifier: Apache-2.0
"""Every policy rule against every persona."""

from oslotest import base as test_base

from nova_groupext import policies
from nova_groupext.policies import rules
from tests import fixtures
from tests.unit.api import base

# Project and roles of those who ask about what the owner's project has.
PERSONAS = {
    'reader': (base.OWNER, ['reader']),
    'member': (base.OWNER, ['member', 'reader']),
    'admin': ('admin-project', ['admin', 'member', 'reader']),
    'foreign reader': (base.FOREIGN, ['reader']),
    'foreign member': (base.FOREIGN, ['member', 'reader']),
    'nobody': (base.OWNER, []),
}
READERS = {'reader', 'member', 'admin'}
MEMBERS = {'member', 'admin'}
ADMINS = {'admin'}

ALLOWED = {
    rules.CAPABILITIES: READERS,
    rules.INDEX: READERS,
    rules.DETAIL: READERS,
    rules.ALL_PROJECTS: ADMINS,
    rules.SHOW: READERS,
    rules.SHOW_PLACEMENT: ADMINS,
    rules.CREATE: MEMBERS,
    rules.WHAT_IF: MEMBERS,
    rules.EXCLUSIVE: ADMINS,
    rules.UPDATE: MEMBERS,
    rules.DELETE: MEMBERS,
    rules.HOLD: MEMBERS,
    rules.RELEASE: MEMBERS,
    rules.EXTEND: MEMBERS,
    rules.REPLAN: MEMBERS,
    rules.PROPOSAL: MEMBERS,
    rules.BOOT: MEMBERS,
    rules.ADOPT: MEMBERS,
    rules.SERVER_GROUP: MEMBERS,
}


class TestPolicies(test_base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Policy())

    def test_every_rule_has_its_expected_personas(self):
        self.assertEqual(
            sorted(ALLOWED),
            sorted(rule.name for rule in policies.list_rules()),
        )

    def test_every_rule_allows_exactly_its_personas(self):
        for rule, allowed in ALLOWED.items():
            may = {
                persona
                for persona, (project_id, roles) in PERSONAS.items()
                if base.requester(project_id, roles).can(
                    rule, {'project_id': base.OWNER}, fatal=False
                )
            }
            self.assertEqual(allowed, may, rule)

    def test_rules_are_registered_once_for_all_versions_of_the_api(self):
        policies.register()

        self.assertTrue(
            base.requester().can(rules.SHOW, {'project_id': base.OWNER})
        )
