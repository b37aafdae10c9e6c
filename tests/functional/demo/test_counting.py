# SPDX-License-Identifier: Apache-2.0
"""Does the demo count what Placement has, also while that changes?"""

import pathlib
import sys
import types

import fixtures
from oslotest import base

TOOLS = pathlib.Path(__file__).parents[3] / 'tools'


class Placement:
    """A host with a server, and a hold that is given back just now."""

    ANSWERS = {
        '/resource_providers/p/inventories': {
            'inventories': {'VCPU': {'total': 16}}
        },
        '/resource_providers/p/allocations': {
            'allocations': {
                name: {'resources': {'VCPU': 8}} for name in ('server', 'gone')
            }
        },
        '/allocations/server': {
            'allocations': {'p': {'resources': {'VCPU': 8}}},
            'consumer_type': 'INSTANCE',
        },
        '/allocations/gone': {'allocations': {}},
    }

    def get(self, path):
        return types.SimpleNamespace(json=lambda: self.ANSWERS[path])


class TestCounting(base.BaseTestCase):
    def test_what_is_given_back_meanwhile_is_free(self):
        self.useFixture(
            fixtures.MonkeyPatch('sys.path', [str(TOOLS), *sys.path])
        )
        from demo_story import ledger

        cloud = types.SimpleNamespace(
            placement=Placement(),
            hosts=[types.SimpleNamespace(name='cmp-1')],
            provider=lambda _name: 'p',
        )

        usage = ledger.Ledger(cloud).usages()['cmp-1']

        self.assertEqual((8, 0, 8), usage.numbers)
