# SPDX-License-Identifier: Apache-2.0
"""Completeness of the documentation, and the answer to its example."""

import configparser
import contextlib
import io
import json
import pathlib
import re

from oslotest import base

from nova_groupext import notifications
from nova_groupext import policies
from nova_groupext.cmd import plan
from nova_groupext.cmd import status
from nova_groupext.conf import vrt
from nova_groupext.db import migration
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.scheduler.audit import audit
from nova_groupext.solver.language import schemas

ROOT = pathlib.Path(__file__).parents[3]
SOURCE = ROOT / 'doc' / 'source'


class TestDocs(base.BaseTestCase):
    def test_every_option_is_documented(self):
        self._finds('install.rst', (option.name for option in vrt.ALL_OPTS))

    def test_every_audit_finding_is_documented(self):
        self._finds('admin/holds.rst', audit.Kind)

    def test_every_notification_and_its_sample_are_documented(self):
        self._finds('admin/notifications.rst', notifications.Event)
        page = (SOURCE / 'admin' / 'notifications.rst').read_text()
        self.assertEqual(
            [event.replace('.', '-') for event in notifications.Event],
            re.findall(r'notification_samples/(.*)\.json', page),
        )

    def test_every_policy_rule_is_documented(self):
        self._finds(
            'install.rst',
            (
                rule.name.removeprefix('os_compute_api:os-vrt-groups:')
                for rule in policies.list_rules()
            ),
        )

    def test_every_table_is_dropped_after_its_referring_tables(self):
        text = (SOURCE / 'install.rst').read_text()
        dropped = [
            name
            for names in re.findall(r'DROP TABLE (.*);', text)
            for name in names.split(', ')
        ]

        tables = models.Base.metadata.sorted_tables
        self.assertEqual(
            {*(table.name for table in tables), migration.VERSION_TABLE},
            {*dropped},
        )
        for table in tables:
            for key in table.foreign_keys:
                pointed_at = dropped.index(key.column.table.name)
                # A draft is a group that points at another one.
                self.assertLessEqual(dropped.index(table.name), pointed_at)

    def test_every_upgrade_check_is_documented(self):
        text = (SOURCE / 'admin' / 'placement.rst').read_text()

        for name, _check in status.Checks._upgrade_checks:
            self.assertIn(f'* - {name}\n', text)

    def test_tasks_of_operators_are_documented(self):
        for page, *texts in (
            (
                'admin/holds.rst',
                'Looking at holds with osc-placement\n===',
                'When Placement is restarted\n===',
                'When no planner comes back\n===',
            ),
            (
                'install.rst',
                'It does not read\n    ``nova-scheduler.conf``',
                'DROP TABLE',
                'cp share/nova-groupext/systemd/*.service',
            ),
        ):
            content = (SOURCE / page).read_text()
            for text in texts:
                self.assertIn(text, content)

    def test_every_policy_type_and_parameter_is_documented(self):
        types = schemas.group_policies()
        parameters = {
            name for each in types.values() for name in each['properties']
        }
        self._finds('user/groups.rst', types)
        self._finds('user/groups.rst', parameters)

    def test_every_visible_group_state_is_documented(self):
        self._finds(
            'user/groups.rst', set(states.Group) - {states.Group.RELEASING}
        )

    def test_example_is_placed_as_documented(self):
        answer = io.StringIO()
        with contextlib.redirect_stdout(answer):
            status = plan.main([str(SOURCE / 'examples' / 'two-hosts.json')])

        self.assertEqual(0, status)
        self.assertEqual(
            {'db': 'cmp-1', 'app-0': 'cmp-2', 'app-1': 'cmp-2'},
            json.loads(answer.getvalue())['placement'],
        )

    def test_every_file_that_the_architecture_names_exists(self):
        text = (SOURCE / 'contributor' / 'architecture.rst').read_text()
        named = re.findall(r'``([a-z_]+/[\w/]*(?:\.py)?)``', text)

        self.assertIn('scheduler/follow/server_changes.py', named)
        self.assertEqual(
            [],
            [
                name
                for name in named
                if not (ROOT / 'nova_groupext' / name).exists()
                and not (ROOT / name).exists()
            ],
        )

    def test_unit_of_the_scheduler_stops_that_of_nova(self):
        unit = configparser.ConfigParser()
        unit.read(ROOT / 'etc/systemd/nova-groupext-scheduler.service')

        self.assertEqual(
            'nova-scheduler.service openstack-nova-scheduler.service',
            unit['Unit'].get('Conflicts'),
        )

    def _finds(self, page, words):
        text = (SOURCE / page).read_text()
        self.assertEqual(
            [], [word for word in words if f'``{word}``' not in text]
        )
