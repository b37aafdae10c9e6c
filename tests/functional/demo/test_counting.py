# SPDX-License-Identifier: Apache-2.0
"""The demo's count of allocations that change while it reads them."""

import pathlib
import sys
import types

import fixtures
from oslotest import base

TOOLS = pathlib.Path(__file__).parents[3] / 'tools'


class Placement:
    """A host with a server, and with a hold that is released meanwhile."""

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
    def test_concurrently_released_hold_counts_as_free(self):
        self.useFixture(
            fixtures.MonkeyPatch('sys.path', [str(TOOLS), *sys.path])
        )
        from demo_steps import placement_client

        cloud = types.SimpleNamespace(
            placement=Placement(),
            hosts=[types.SimpleNamespace(name='cmp-1')],
            provider=lambda _name: 'p',
        )

        usage = placement_client.PlacementClient(cloud).usages()['cmp-1']

        self.assertEqual((8, 0, 8), usage.numbers)
