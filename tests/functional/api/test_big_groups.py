# SPDX-License-Identifier: Apache-2.0
"""Reads of a group of 1,000 members cost the statements of one of 100."""

import contextlib

import sqlalchemy as sa

from nova_groupext.db import engine
from nova_groupext.objects import states
from tests.functional import base as functional
from tests.functional.api import base

FEW, MANY = 100, 1000


class TestBigGroups(base.ApiTestCase):
    @contextlib.contextmanager
    def counted(self):
        """Return a list that gets the statements on our tables."""
        statements = []

        def note(_connection, _cursor, statement, *_others):
            statements.append(statement)

        ours = (engine.get_engine(), 'before_cursor_execute', note)
        sa.event.listen(*ours)
        try:
            yield statements
        finally:
            sa.event.remove(*ours)

    def assert_equal_counts(self, work):
        """Check that work costs the same for few and for many members.

        :param work: function of a group's uuid
        """
        found = {}
        for members in (FEW, MANY):
            topology = {'members': {'a': functional.member(count=members)}}
            uuid = self.store_group(states.Group.HELD, topology)
            with self.counted() as statements:
                work(uuid)
            # Other than MariaDB, SQLite gets a statement for each row: see
            # tests/services/test_scale.py.
            found[members] = sum(
                not each.startswith('INSERT INTO vrt_members')
                for each in statements
            )
        self.assertNotEqual(0, found[FEW])
        self.assertEqual(found[FEW], found[MANY])

    def check_get(self, query, name):
        answers = []

        def get(uuid):
            path = f'{functional.GROUPS}{query.format(uuid)}'
            response = self.api().get(path)
            self.assertEqual(200, response.status_code, response.text)
            answers.append(response.json())

        self.assert_equal_counts(get)
        self.assertIn(name, answers[-1])

    def test_more_members_cost_no_more_to_show(self):
        self.check_get('/{}', 'vrt_group')

    def test_more_members_cost_no_more_for_a_page_of_them(self):
        self.check_get('/{}/members?limit=10', 'members')

    def test_more_members_cost_no_more_to_show_one(self):
        self.check_get('/{}/members/a-7', 'member')

    def test_more_members_cost_no_more_to_list_the_group(self):
        self.check_get('/detail?limit=1', 'vrt_groups')

    def test_more_members_cost_no_more_to_delete(self):
        self.assert_equal_counts(
            lambda uuid: self.api().delete(f'{functional.GROUPS}/{uuid}')
        )

    def test_more_members_cost_no_more_to_extend(self):
        self.assert_equal_counts(lambda uuid: self.act(uuid, 'extend'))

    def test_more_members_cost_no_more_to_release(self):
        self.assert_equal_counts(lambda uuid: self.act(uuid, 'release'))

    def test_more_members_cost_no_more_to_revise(self):
        def revise(uuid):
            group = self.group(uuid)
            topology = group['topology']
            topology['members']['a']['count'] -= 1
            response = self.api().put(
                f'{functional.GROUPS}/{uuid}',
                json={
                    'vrt_group': {
                        'topology': topology,
                        'generation': group['generation'],
                    }
                },
            )
            self.assertEqual(202, response.status_code, response.text)

        self.assert_equal_counts(revise)
