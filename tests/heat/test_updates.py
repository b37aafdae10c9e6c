# SPDX-License-Identifier: Apache-2.0
"""Updates in which servers are rebuilt, replaced or lost."""

from nova_groupext.cloud import image
from tests.heat import base
from tests.heat import hot

NEXT = image.image_id('cirros-next')


def pair(**properties):
    """Return resources: a group of two counted servers."""
    return {
        'group': hot.group(),
        'webs': hot.many(2, hot.server('web-%index%', **properties)),
    }


def failing(*, fail=True, **resources):
    """Return resources of which the last one fails, or may fail later."""
    broken = {
        'type': 'OS::Heat::TestResource',
        'properties': {'fail': fail},
        'depends_on': [*resources],
    }
    return {**resources, 'broken': broken}


class TestReplacing(base.HeatTestCase):
    def image_of(self, server):
        return server.image['id']

    def check(self, resources):
        """Update the stack, and check that all its servers are members.

        :returns: {id: server}
        """
        status = self.update_stack(resources)

        self.assertEqual('UPDATE_COMPLETE', status[0], status)
        self.follow()
        servers = self.servers()
        self.assertEqual(2, len(servers))
        members = self.the_group()['members']
        self.assertEqual({*servers}, {each['server_id'] for each in members})
        self.assertEqual(
            [('ACTIVE', None, None)] * 2,
            [
                (each['status'], each['pending'], each['successor'])
                for each in members
            ],
        )
        return servers

    def check_replaced(self, before, after):
        """Create a stack, and check that its update replaces all servers.

        :param before: resources of the stack
        :param after: those of the update
        :returns: {id: server} after the update
        """
        self.create_stack(before)
        old = self.servers()

        new = self.check(after)

        self.assertEqual([], [*old.keys() & new.keys()])
        return new

    def test_servers_are_rebuilt_with_another_image(self):
        self.create_stack(pair())
        before = self.servers()

        after = self.check(pair(image='cirros-next'))

        self.assertEqual({*before}, {*after})
        self.assertEqual([NEXT] * 2, [*map(self.image_of, after.values())])

    def test_servers_are_replaced_by_those_of_another_image(self):
        policy = {'image_update_policy': 'REPLACE'}

        after = self.check_replaced(
            pair(**policy), pair(image='cirros-next', **policy)
        )

        self.assertEqual([NEXT] * 2, [*map(self.image_of, after.values())])

    def test_servers_are_replaced_for_other_user_data(self):
        self.check_replaced(pair(user_data='a'), pair(user_data='b'))

        self.assertEqual(1, self.the_group()['generation'])

    def test_scaled_servers_are_replaced_in_batches(self):
        def scaled(user_data):
            return {
                'group': hot.group(),
                'webs': {
                    'type': 'OS::Heat::AutoScalingGroup',
                    'properties': {
                        'min_size': 2,
                        'max_size': 2,
                        'rolling_updates': {'min_in_service': 2},
                        'resource': hot.server('web', user_data=user_data),
                    },
                },
            }

        self.check_replaced(scaled('a'), scaled('b'))

    def test_servers_of_a_resource_group_are_replaced_in_batches(self):
        def batched(user_data):
            server = hot.server('web-%index%', user_data=user_data)
            policy = {'rolling_update': {'max_batch_size': 1}}
            return {
                'group': hot.group(),
                'webs': hot.many(2, server, update_policy=policy),
            }

        self.check_replaced(batched('a'), batched('b'))

    def test_successors_that_a_failed_update_leaves_are_replaced_as_well(self):
        def servers(user_data):
            return {
                'group': hot.group(),
                'a': hot.server('a', user_data=user_data),
                'b': hot.server('b', user_data=user_data),
            }

        # Heat deletes old servers after what has depended on them is updated.
        self.create_stack(failing(**servers('1'), fail=False))
        status = self.update_stack(failing(**servers('2')))

        self.assertEqual('UPDATE_FAILED', status[0], status)
        failed = self.servers()
        self.assertEqual(4, len(failed))
        members = self.the_group()['members']
        self.assertEqual(
            ['ACTIVE'] * 2, [each['successor']['status'] for each in members]
        )

        after = self.check(servers('3'))

        self.assertEqual([], [*failed.keys() & after.keys()])

    def test_servers_are_resized_in_one_decision(self):
        self.create_stack(pair())
        before = self.servers()

        after = self.check(pair(flavor='m1.small'))

        self.assertEqual({*before}, {*after})
        self.assertEqual(2, self.the_group()['generation'])


class TestLoss(base.HeatTestCase):
    """Servers and groups are deleted without Heat."""

    def test_member_that_has_lost_its_place_is_held_again(self):
        self.create_stack(pair())
        [lost, _other] = self.servers()
        self.cloud.nova('demo').servers.delete(lost)
        self.eventually(lambda: len(self.servers()), lambda left: left == 1)
        self.follow()
        statuses = sorted(self.statuses().values())
        self.assertEqual(['ACTIVE', 'TENTATIVE'], statuses)

        status = self.update_stack(pair())

        self.assertEqual('UPDATE_COMPLETE', status[0], status)
        self.assertEqual(['ACTIVE', 'HELD'], sorted(self.statuses().values()))

    def test_group_that_was_deleted_is_created_again_with_its_servers(self):
        self.create_stack(pair())
        before = self.servers()
        uuid = self.the_group()['id']
        self.delete_group(uuid)
        self.eventually(
            lambda: self.api().get(f'/os-vrt-groups/{uuid}').status_code,
            lambda code: code == 404,
        )

        status = self.update_stack(pair())

        self.assertEqual('UPDATE_COMPLETE', status[0], status)
        self.assertNotEqual(uuid, self.the_group()['id'])
        self.assertEqual(['ACTIVE'] * 2, [*self.statuses().values()])
        self.assertEqual([], [*before.keys() & self.servers().keys()])


class TestRollback(base.HeatTestCase):
    """Stacks that go back after a failure."""

    def test_created_stack_leaves_nothing(self):
        status = self.create_stack(failing(**pair()), disable_rollback=False)

        self.assertEqual('ROLLBACK_COMPLETE', status[0], status)
        self.eventually(self.left, lambda left: not left)
        groups = self.api().get('/os-vrt-groups').json()['vrt_groups']
        self.assertEqual([], groups)

    def test_added_servers_are_no_members_any_more(self):
        self.create_stack(pair())

        status = self.update_stack(
            failing(**pair(), db=hot.server('db')),
            disable_rollback=False,
        )

        self.assertEqual('ROLLBACK_COMPLETE', status[0], status)
        self.eventually(lambda: len(self.servers()), lambda left: left == 2)
        self.follow()
        self.assertEqual(['ACTIVE'] * 2, [*self.statuses().values()])
        self.assertEqual(['web'], [*self.the_group()['topology']['members']])

    def test_removed_servers_are_members_again(self):
        self.create_stack({**pair(), 'db': hot.server('db')})

        status = self.update_stack(failing(**pair()), disable_rollback=False)

        self.assertEqual('ROLLBACK_COMPLETE', status[0], status)
        self.assertEqual('ACTIVE', self.statuses()['db'])
        self.assertEqual(['ACTIVE'] * 3, [*self.statuses().values()])


class TestAsking(base.HeatTestCase):
    """Requests that change no group."""

    def test_preview_of_a_stack_creates_no_group(self):
        answer = self.orchestration().post(
            '/stacks/preview',
            json={
                'stack_name': self.stack,
                'template': hot.template(pair()),
            },
        )

        self.assertEqual(200, answer.status_code, answer.text)
        groups = self.api().get('/os-vrt-groups').json()['vrt_groups']
        self.assertEqual([], groups)

    def test_preview_of_an_update_revises_no_group(self):
        self.create_stack(pair())

        answer = self.orchestration().put(
            f'{self._url()}/preview',
            json={'template': hot.template(pair(flavor='m1.small'))},
        )

        self.assertEqual(200, answer.status_code, answer.text)
        self.assertEqual(1, self.the_group()['generation'])

    def test_abandoned_stack_leaves_group_and_servers(self):
        self.create_stack(pair())

        answer = self.orchestration().delete(f'{self._url()}/abandon')

        self.assertEqual(200, answer.status_code, answer.text)
        self.assertEqual(['ACTIVE'] * 2, [*self.statuses().values()])
        for server in self.servers():
            self.cloud.nova('demo').servers.delete(server)
        self.delete_group(self.the_group()['id'])
        self.eventually(self.left, lambda left: not left)

    def attributes(self):
        answer = self.orchestration().get(f'{self._url()}/resources/group')
        return answer.json()['resource']['attributes']

    def test_attributes_show_group_and_definition(self):
        self.create_stack(pair())

        shown = self.attributes()

        self.assertEqual('ACTIVE', shown['status'])
        self.assertEqual(
            ['web-0', 'web-1'], [each['path'] for each in shown['members']]
        )
        [member] = shown['description']['topology']['members'].values()
        self.assertEqual('m1.tiny', member['flavor'])
        self.assertIsNone(shown['refusal'])

    def test_policies_that_the_cloud_does_not_have_are_invalid(self):
        for wrong, known in (
            ({'type': 'apart', 'scope': 'host'}, 'anti-affinity'),
            ({'type': 'affinity', 'scope': 'shelf'}, 'rack'),
        ):
            with self.subTest(wrong):
                group = hot.group(groups={'web': {'policies': [wrong]}})

                text = self.invalid({'group': group, 'a': hot.server('a')})

                self.assertIn('groups.web.policies', text)
                self.assertIn(known, text)

    def test_parameters_have_constraints_of_scopes_and_policy_types(self):
        parameters = {
            'scope': {
                'type': 'string',
                'constraints': [{'custom_constraint': 'vrt.scope'}],
            },
            'type': {
                'type': 'string',
                'constraints': [{'custom_constraint': 'vrt.policy_type'}],
            },
        }
        template = hot.template(pair(), parameters=parameters)

        text = self.invalid(
            template, parameters={'scope': 'host', 'type': 'apart'}
        )

        self.assertIn('apart is no policy type', text)
