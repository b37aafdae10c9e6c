# SPDX-License-Identifier: Apache-2.0
"""Columns of the commands: text for people, data for programs."""

from oslotest import base

from nova_groupext_client.osc import columns


class TestColumns(base.BaseTestCase):
    def test_moves_are_data_for_programs_and_lines_for_people(self):
        domains = {'host': '9f3c', 'rack': '51aa'}
        moves = [
            {'path': 'a-0', 'server_id': 'id-0', 'domains': domains},
            {
                **{'path': 'a-1', 'server_id': 'id-1', 'domains': domains},
                'host': 'cmp-1',
            },
        ]

        column = columns.Moves(moves)

        self.assertEqual(moves, column.machine_readable())
        self.assertEqual(
            'a-0 (id-0) to host 9f3c, rack 51aa\na-1 (id-1) to cmp-1',
            column.human_readable(),
        )
