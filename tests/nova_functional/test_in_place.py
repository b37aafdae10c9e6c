# SPDX-License-Identifier: Apache-2.0
"""Checks that a process has the side that it should have."""

from nova.tests.functional import test_server_group as stock
from oslo_utils.fixture import uuidsentinel as uuids

from tests.nova_functional import names
from tests.nova_functional import sides

SIDE = sides.installed() or names.OURS
sides.install(SIDE)

HINTS = {'vrt_group': uuids.group, 'vrt_member': 'web-0'}


class TestInPlace(stock.ServerGroupTestBase):
    """A cloud of Nova's tests: ours has what stock has not."""

    def setUp(self):
        sides.CALLS.clear()
        self.managers = {}
        super().setUp()

    def start_service(self, name, *args, **kwargs):
        service = super().start_service(name, *args, **kwargs)
        manager = type(service.manager)
        self.managers[name] = f'{manager.__module__}.{manager.__name__}'
        return service

    def expect(self, if_ours, if_stock, actual):
        self.assertEqual(if_ours if SIDE == names.OURS else if_stock, actual)

    def test_scheduler_has_the_manager_of_the_side(self):
        self.expect(
            sides.MANAGER,
            'nova.scheduler.manager.SchedulerManager',
            self.managers['scheduler'],
        )

    def test_server_of_a_server_group_is_placed_by_our_scheduler(self):
        for host in ('host1', 'host2'):
            self.start_service('compute', host=host)
        created = self.api.post_server_groups(self.anti_affinity)

        self._boot_a_server_to_group(created)

        self.expect(
            {
                'HolisticSchedulerManager.select_destinations': 1,
                'HolisticFilter.filter_all': 1,
                'HolisticWeigher.weigh_objects': 1,
            },
            {},
            {
                name: count
                for name, count in sides.CALLS.items()
                if not name.endswith('.__init__')
            },
        )

    def test_our_routes_answer_from_our_tables(self):
        for path in ('os-vrt-groups/capabilities', 'os-vrt-groups'):
            answer = self.admin_api.api_request(path)

            self.expect(200, 404, answer.status_code)

    def test_our_paste_filter_refuses_a_server_of_an_unknown_group(self):
        self.start_service('compute', host='host1')
        server = self._build_server(
            image_uuid='a2459075-d96c-40d5-893e-577ff92e721c', networks=[]
        )

        answer = self.api.api_post(
            '/servers',
            {'server': server, 'os:scheduler_hints': HINTS},
            check_response_status=(202, 404),
        )

        self.expect(404, 202, answer.status)
        if answer.status == 202:
            # No boot outlasts its test.
            self._wait_for_state_change(answer.body['server'], 'ACTIVE')
