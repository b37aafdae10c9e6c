# SPDX-License-Identifier: Apache-2.0
"""The command nova-groupext-manage holds: text, JSON and exit status."""

import json
import subprocess
import sys

from nova_groupext.cloud import hosts
from tests.functional import base


class TestHoldsCommand(base.GroupTestCase):
    PARTS = base.WITHOUT_REAPER
    HOSTS = (hosts.Host('cmp-1', 'r1', 'az1', vcpus=4),)

    def manage(self, *args, config='nova.conf'):
        """Run the command as a process of its own."""
        return subprocess.run(
            [
                *(sys.executable, '-m', 'nova_groupext.cmd.manage'),
                *('--config-file', str(self.cloud.state / config)),
                *('holds', *args),
            ],
            capture_output=True,
            text=True,
            check=False,
        )

    def read(self, status, *args):
        """Return the JSON of a command that ends with a status."""
        done = self.manage(*args, '--json')
        self.assertEqual(status, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def test_audit_reports_and_heal_replaces_a_missing_hold(self):
        uuid = self.hold_group({'members': {'a': base.member()}})['id']
        [hold] = self.holds_of(uuid)
        self.assertEqual({'findings': []}, self.read(0, 'audit'))

        self.cloud.placement.delete(f'/allocations/{hold.uuid}')

        found = self.manage('audit')
        self.assertEqual(3, found.returncode, found.stderr)
        self.assertIn('findings: 1\n', found.stdout)
        for column in (uuid, hold.uuid, hold.provider_uuid, 'missing'):
            self.assertIn(f'| {column} ', found.stdout)
        [told] = self.read(3, 'heal', '--dry-run')['findings']
        self.assertIn('hold it again', told['remedy'])
        self.assertEqual([hold.uuid], [h.uuid for h in self.holds_of(uuid)])
        healed = self.read(0, 'heal')
        self.assertEqual(
            ([], [hold.uuid]),
            (healed['findings'], [h['consumer'] for h in healed['healed']]),
        )
        [again] = self.holds_of(uuid)
        self.assertEqual(again.allocations, self.owned(again.uuid))

    def owned(self, consumer):
        return {
            provider: {'resources': part['resources']}
            for provider, part in self.allocations(consumer).items()
        }

    def test_stats_count_groups_members_and_holds(self):
        self.hold_group({'members': {'a': base.member(count=2)}})

        counts = self.read(0, 'stats')

        self.assertEqual(
            (1, 2, 2, 0, 0),
            (
                counts['groups']['HELD'],
                counts['members']['HELD'],
                counts['holds']['HELD'],
                counts['holds']['RELEASING'],
                counts['oldest_releasing'],
            ),
        )

    def test_audit_without_placement_exits_with_an_error(self):
        text = (self.cloud.state / 'nova.conf').read_text()
        (self.cloud.state / 'deaf.conf').write_text(
            text.replace(f'{self.cloud.url}/placement', 'http://127.0.0.1:9')
        )

        done = self.manage('audit', config='deaf.conf')

        self.assertEqual((1, ''), (done.returncode, done.stdout))
        self.assertIn('Placement did not answer', done.stderr)
        self.assertNotIn('Traceback', done.stderr)
