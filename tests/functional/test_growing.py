# SPDX-License-Identifier: Apache-2.0
"""Groups that grow: creates of members that have no host yet."""

from concurrent import futures
import threading

import fixtures
from nova import exception as nova_errors
from oslo_utils import timeutils

from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.planners import VRTPlanner
from nova_groupext.scheduler import serve
from nova_groupext.scheduler.redeem import create_request
from nova_groupext.scheduler.redeem import redeem_path
from tests.functional import base
from tests.functional import growing
from tests.functional import redeem_requests


class TestGrowing(growing.GrowingCase):
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

        for path, where in (('w', 'of w: '), ('/', 'of the group: ')):
            message = self.assert_refused(403, path)

            self.assertIn(f'allows no more servers {where}', message)
            self.assertIn('raise max_count or max_surge', message)

    def test_exact_name_is_given_to_the_new_member(self):
        self.hold_workers(1, 4)
        self.grow()

        self.grow('w-7')

        self.assertEqual({'w-0': 'ACTIVE', 'w-7': 'ACTIVE'}, self.statuses())
        self.assert_sound()

    def test_exact_name_is_given_to_a_held_member_that_is_left(self):
        self.hold_workers(2, 2)
        self.grow('w-0')

        self.grow('w-7')

        self.assertEqual({'w-0': 'ACTIVE', 'w-7': 'ACTIVE'}, self.statuses())
        members = self.group(self.uuid, 'admin')['members']
        shown = {each['path']: each['host'] for each in members}
        self.assertIsNotNone(shown['w-7'])
        self.assert_sound()

    def test_new_member_has_no_name_of_a_set_or_subgroup(self):
        few = base.member(count=1, max_count=3)
        sub = {'members': {'x': few}}
        topology = {'members': {'w': few, 'w-1': few}, 'groups': {'w-2': sub}}
        self.uuid = self.hold_group(topology)['id']
        hints = ('w', 'w', 'w-1', 'w-1', 'w-2', 'w-2')

        statuses = {self.grow(hint).status for hint in hints}

        self.assertEqual({'ACTIVE'}, statuses)
        self.assertEqual(
            {'w-0', 'w-3', 'w-1-0', 'w-1-1', 'w-2/x-0', 'w-2/x-1'},
            {*self.statuses()},
        )
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
        told = failed.fault['message']
        self.assertIn('w', told)
        # That four of five would fit helps nobody who asks for the fifth.
        self.assertNotIn('fits with', told)
        self.assertLess(len(told), 255)
        self.assert_refused(403)
        self.assert_sound()

    def test_servers_of_one_request_are_placed_together(self):
        self.hold_workers(1, 4)

        servers = self.boot_many(3)

        self.assertEqual({'ACTIVE'}, {each.status for each in servers})
        self.assertEqual(3, len(self.statuses()))
        self.assert_sound()

    def test_servers_of_one_request_that_do_not_all_fit_get_nothing(self):
        self.hold_workers(1, 8)

        servers = self.boot_many(5)

        self.assertEqual({'ERROR'}, {each.status for each in servers})
        self.assertEqual({'w-0': 'HELD'}, self.statuses())
        self.assert_sound()

    def test_server_waits_for_no_planner_if_none_runs(self):
        self.hold_workers(1, 2)
        self.grow()
        self.patch(VRTPlanner, 'is_any_alive', lambda *_args: False)

        failed = self.grow()

        self.assertIn('no planner is running', failed.fault['message'])
        self.assertEqual(
            [], VRTCreate.list_rows(self.context), 'a create is left'
        )

    def test_expired_member_is_placed_again(self):
        self.hold_workers(1, 1)
        self.change_row(self.uuid, expires_at=timeutils.utcnow())

        server = self.grow()

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assert_sound()

    def test_refusal_is_forgotten_when_a_server_is_gone(self):
        """Nobody but the next create has seen yet that it is."""
        self.hold_workers(1, 9)
        servers = [self.grow() for _host in self.HOSTS]
        self.assertEqual('ERROR', self.grow().status)
        self.assert_refused(403)

        self.delete(servers[0])

        self.assertEqual('ACTIVE', self.grow().status)
        self.assert_sound()

    def test_create_of_a_released_member_is_refused(self):
        self.uuid = self.hold_group({'members': {'w': base.member(count=1)}})[
            'id'
        ]
        self.act(self.uuid, 'release')

        self.assert_refused(409)

    def test_member_that_was_placed_for_a_server_is_none_when_released(self):
        self.hold_workers(1, 3)
        first = self.grow()

        failed = self.grow_around(
            lambda: self.act(self.uuid, 'release'), fails=True
        )

        self.assertEqual('ERROR', failed.status)
        self.assertEqual({'w-0': 'ACTIVE'}, self.reaped_statuses())
        self.delete(first)
        self.assertEqual('ACTIVE', self.grow('w-0').status)
        self.assert_sound()

    def test_new_member_whose_host_is_refused_gets_another(self):
        self.hold_workers(1, 3)
        self.grow()
        refused = []

        def refuse_its_host():
            refused.append(self.planned_hosts(self.uuid)['w-1'])
            self.disable(refused[0])

        server = self.grow_around(refuse_its_host)

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertNotIn(self.host_of(server), refused)
        self.assertEqual({'w-0': 'ACTIVE', 'w-1': 'ACTIVE'}, self.statuses())
        self.assert_sound()

    def test_server_whose_new_member_finds_no_other_host_has_a_reason(self):
        self.hold_workers(1, 3)
        self.grow()

        failed = self.grow_around(lambda: self.reject_hosts(lambda *_: True))

        self.assertIn('it stays held', failed.fault['message'])
        self.eventually(
            self.reaped_statuses, lambda now: now == {'w-0': 'ACTIVE'}
        )
        self.assert_sound()

    def test_members_of_a_dead_scheduler_are_free_again(self):
        self.hold_workers(1, 3)
        self.grow()
        self.patch(redeem_path.RedeemPath, 'redeem', self.die)
        self.assertEqual('ERROR', self.grow().status)
        statuses = self.statuses()
        self.assertEqual({'w-0': 'ACTIVE', 'w-1': 'HELD'}, statuses)

        self.eventually(
            self.reaped_statuses, lambda now: now == {'w-0': 'ACTIVE'}
        )

        self.assert_sound()

    def test_server_that_is_deleted_while_it_waits_leaves_nothing(self):
        self.hold_workers(1, 2)
        self.grow()
        wait, is_waiting, goes_on = growing.paused(
            serve.GroupServer._place_creates
        )
        with fixtures.MonkeyPatch(
            f'{serve.__name__}.GroupServer._place_creates', wait
        ):
            server = self.create(
                'm1.tiny', scheduler_hints=base.member_hints(self.uuid, 'w')
            )
            is_waiting.wait(60)
            server.delete()
            goes_on.set()
            self.eventually(
                lambda: VRTCreate.list_rows(self.context),
                lambda creates: not creates,
            )

        self.delete_servers(server)
        self.eventually(
            self.reaped_statuses, lambda now: now == {'w-0': 'ACTIVE'}
        )
        self.assert_sound()

    def test_server_of_a_deleted_group_does_not_wait_for_its_planner(self):
        self.hold_workers(1, 2)
        self.grow()
        is_waiting = threading.Event()
        with (
            fixtures.MonkeyPatch(
                f'{serve.__name__}.GroupServer._place_creates',
                lambda *_args: is_waiting.set(),
            ),
            futures.ThreadPoolExecutor() as pool,
        ):
            create = pool.submit(self.grow)
            is_waiting.wait(60)
            self.delete_group(self.uuid)
            server = create.result()

        self.assertEqual('ERROR', server.status)
        self.assertIn('its VRT group was deleted', server.fault['message'])

    def test_planner_that_is_too_late_holds_nothing(self):
        self.hold_workers(1, 2)
        self.grow()
        gave_up = threading.Event()
        self.patch(
            *(create_request._waiting, 'wait'),
            lambda *_args: gave_up.wait(60) and None,
        )

        points = []

        def give_up(point):
            points.append(point)
            if point == 'before hold.post':
                VRTCreate.update_rows(
                    self.context, ends_at=timeutils.utcnow().replace(2000)
                )
                gave_up.set()

        with fixtures.MonkeyPatch(
            'nova_groupext.faultpoints.handler', give_up
        ):
            failed = self.grow()

        self.assertTrue(gave_up.is_set())
        self.assertNotIn('after revise.commit', points)
        self.assertIn('no planner has found a host', failed.fault['message'])
        self.eventually(
            self.reaped_statuses, lambda now: now == {'w-0': 'ACTIVE'}
        )
        self.assert_sound()
        self.assertEqual([], VRTCreate.list_rows(self.context))

    @staticmethod
    def die(*_args):
        raise nova_errors.NoValidHost(reason='died')


class TestOtherProjects(redeem_requests.RedeemTestCase):
    def test_servers_of_another_project_get_no_place(self):
        """The API refuses them before; the scheduler does not rely on it."""
        why = self.select_refusal(*self.request(project_id='other'))

        self.assertIn('has no member', why)
        self.assertEqual([], VRTCreate.list_rows(self.context))
        self.assertEqual(
            ('HELD', None),
            (self.member('a').status, self.member('a').reserved_for),
        )
