# SPDX-License-Identifier: Apache-2.0
"""Trees of resource providers in a Placement of a test's own."""

import functools
import types

from nova import context
from nova.objects import request_spec
from nova.scheduler import utils
from nova.scheduler.client import report
from oslo_utils import uuidutils
from oslotest import base

from nova_groupext.scheduler.placement import client
from tests.services import databases
from tests.services import placement
from tests.services import process_fixtures
from tests.services import servers

A, B = CLASSES = ('CUSTOM_A', 'CUSTOM_B')
FAST, QUIET = TRAITS = ('CUSTOM_FAST', 'CUSTOM_QUIET')
SHARES = 'MISC_SHARES_VIA_AGGREGATE'


@functools.cache
def _url():
    """Return the URL of a Placement that is kept by this process."""
    database = process_fixtures.set_up(databases.Database(servers.SQLITE))
    process = placement.Placement(database.url, processes=1)
    [url] = process_fixtures.set_up(process).urls
    return url


class ProviderTreesTestCase(base.BaseTestCase):
    """A test with a Placement that has no providers yet."""

    def setUp(self):
        super().setUp()
        self.admin = placement.client(_url())
        self.context = context.get_admin_context()
        self.client = client.PlacementClient(
            report.SchedulerReportClient(self.admin)
        )
        for name in CLASSES:
            self.admin.put(f'/resource_classes/{name}')
        for name in TRAITS:
            self.admin.put(f'/traits/{name}')

    def make_provider(
        self, inventories, parent=None, traits=(), aggregates=()
    ):
        """Make a provider.

        :param inventories: {resource class: total}
        :param parent: uuid of its parent
        :returns: its uuid
        """
        uuid = uuidutils.generate_uuid()
        url = f'/resource_providers/{uuid}'
        parents = {'parent_provider_uuid': parent} if parent else {}
        self.admin.post(
            '/resource_providers', json={'name': uuid, 'uuid': uuid, **parents}
        )
        self.addCleanup(self.admin.delete, url)
        parts = {
            'inventories': {
                name: {'total': total} for name, total in inventories.items()
            },
            'traits': sorted(traits),
            'aggregates': sorted(aggregates),
        }
        generation = 0
        for name, part in parts.items():
            response = self.admin.put(
                f'{url}/{name}',
                json={name: part, 'resource_provider_generation': generation},
            )
            self.assertEqual(200, response.status_code, response.text)
            generation = response.json()['resource_provider_generation']
        return uuid

    def fill(self, provider, name):
        """Use one unit of a resource class."""
        consumer = uuidutils.generate_uuid()
        url = f'/allocations/{consumer}'
        body = {
            'allocations': {provider: {'resources': {name: 1}}},
            'consumer_generation': None,
            'consumer_type': 'INSTANCE',
            'project_id': 'p',
            'user_id': 'u',
        }
        response = self.admin.put(url, json=body)
        self.assertEqual(204, response.status_code, response.text)
        self.addCleanup(self.admin.delete, url)

    def candidates(self, request):
        """Return the allocation requests that Placement answers."""
        return self.client.candidates(self.context, request)[0]


def make_holds(host, name):
    """Return CurrentHolds with one hold, of one unit of a resource class."""
    hold = types.SimpleNamespace(
        provider_uuid=host, allocations={host: {'resources': {name: 1}}}
    )
    return types.SimpleNamespace(movable=[hold])


def make_request(amounts, root_required=(), root_forbidden=(), **conditions):
    """Return Nova's ResourceRequest without numbered groups.

    :param conditions: further fields of a RequestGroup
    """
    request = utils.ResourceRequest()
    request._limit = None
    request._root_required = set(root_required)
    request._root_forbidden = set(root_forbidden)
    request._rg_by_id[None] = request_spec.RequestGroup(
        use_same_provider=False, resources=amounts, **conditions
    )
    return request
