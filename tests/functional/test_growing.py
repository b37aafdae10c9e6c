# SPDX-License-Identifier: Apache-2.0
"""Groups that grow: creates of members that have no host yet."""

from novaclient import exceptions as nova_exc

from nova_groupext.cloud import hosts
from nova_groupext.scheduler.audit import audit
from tests import rounds
from tests.functional import base
from tests.functional import changing_cloud

APART = {'type': 'anti-affinity', 'scope': 'host'}


class GrowingCase(changing_cloud.ChangingCloudTestCase):
    """A group of a worker or more, on hosts with room for one each."""

    HOSTS = tuple(
        hosts.Host(f'cmp-{number}', f'r{number}', 'az1', vcpus=4)
        for number in range(1, 5)
    )

    def hold_workers(self, count, max_count, **more):
        worker = base.member(count=count, max_count=max_count)
        topology = {'members': {'w': worker}, 'policies': [APART], **more}
        self.uuid = self.hold_group(topology)['id']

    def grow(self, path='w'):
        """Create a server by its hints and wait for it."""
        return self.redeem(self.uuid, path, 'm1.tiny')

    def assert_refused(self, code, path='w'):
        error = self.assertRaises(
            nova_exc.ClientException, self.grow, path
        )
        self.assertEqual(code, error.code, error)
        return str(error)

    def delete(self, server):
        """Delete a server and wait until it is gone."""
        server.delete()
        servers = self.cloud.nova('demo').servers

        def is_gone():
            try:
                servers.get(server.id)
            except nova_exc.NotFound:
                return True
            return False

        self.eventually(is_gone, bool)

    def reaped_statuses(self):
        rounds.reap(self.planner, self.context)
        return self.statuses()

    def statuses(self):
        return {each['path']: each['status'] for each in self.members()}

    def assert_sound(self):
        self.assertEqual([], audit.audit(self.context, self.placement_client))


class TestGrowing(GrowingCase):
    def test_create_beyond_count_places_a_new_member(self):
        self.hold_workers(1, 3)

        servers = [self.grow() for _number in range(3)]

        self.assertEqual({'ACTIVE'}, {each.status for each in servers})
        self.assertEqual(
            {'w-0': 'ACTIVE', 'w-1': 'ACTIVE', 'w-2': 'ACTIVE'},
            self.statuses(),
        )
        self.assertEqual(3, len({self.host_of(each) for each in servers}))
        self.assert_sound()

    def test_create_beyond_max_count_is_forbidden(self):
        self.hold_workers(1, 2)
        self.grow(), self.grow()

        message = self.assert_refused(403)

        self.assertIn('w', message)

    def test_exact_name_is_given_to_the_new_member(self):
        self.hold_workers(1, 4)
        self.grow()

        self.grow('w-7')

        self.assertEqual({'w-0': 'ACTIVE', 'w-7': 'ACTIVE'}, self.statuses())
        self.assert_sound()

    def test_deleted_server_beyond_count_leaves_no_member(self):
        self.hold_workers(1, 3)
        self.grow()
        second = self.grow()

        self.delete(second)

        self.eventually(
            self.reaped_statuses, lambda now: now == {'w-0': 'ACTIVE'}
        )
        self.assert_sound()

    def test_server_is_created_again_at_once(self):
        self.hold_workers(1, 1)
        first = self.grow()

        self.delete(first)
        second = self.grow()

        self.assertEqual('ACTIVE', second.status, vars(second))
        self.assertEqual({'w-0': 'ACTIVE'}, self.statuses())

    def test_full_cloud_refuses_with_the_reason_and_remembers_it(self):
        self.hold_workers(1, 6)
        for _number in range(4):
            self.grow()

        failed = self.grow()

        self.assertEqual('ERROR', failed.status)
        self.assertIn('w', failed.fault['message'])
        self.assert_refused(403)
        self.assert_sound()
