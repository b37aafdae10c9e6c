# SPDX-License-Identifier: Apache-2.0
"""Engines that are killed."""

from nova_groupext.api import groups
from tests.heat import base
from tests.heat import hot


class TestKilledEngine(base.HeatTestCase):
    """The engine is killed after the POST, before it has stored the id."""

    def setUp(self):
        super().setUp()
        self._accept = groups.accept
        self.patch(groups, 'accept', self._accept_and_kill)

    def _accept_and_kill(self, *args, **kwargs):
        self._accept(*args, **kwargs)
        self.patch(groups, 'accept', self._accept)
        self.heat.kill()

    def create_stack_and_die(self, resources):
        self.start_stack(resources)
        self.eventually(lambda: self.heat.has_ended(), bool)
        self.heat.start()

    def test_its_group_is_found_by_the_next_update(self):
        resources = {'group': hot.group(), 'a': hot.server('a')}
        self.create_stack_and_die(resources)
        uuid = self.the_group()['id']

        status = self.update_stack(resources)

        self.assertEqual('UPDATE_COMPLETE', status[0], status)
        self.assertEqual(uuid, self.the_group()['id'])
        self.assertEqual({'a': 'ACTIVE'}, self.statuses())

    def test_its_group_is_deleted_with_the_stack(self):
        self.create_stack_and_die({'group': hot.group(), 'a': hot.server('a')})

        self.delete_stack()

        groups = self.api().get('/os-vrt-groups').json()['vrt_groups']
        self.assertEqual([], groups)
