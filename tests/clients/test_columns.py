# SPDX-License-Identifier: Apache-2.0
"""Columns of the commands: text for people, data for programs."""

from oslotest import base

from nova_groupext_client.osc import columns
from nova_groupext_client.sdk import vrt_member


class TestColumns(base.BaseTestCase):
    def test_members_are_shown_with_what_changes(self):
        member = {'path': 'a', 'status': 'ACTIVE', 'server_id': 'id-0'}
        other = {'from': {'image': 'x'}, 'to': {'image': 'y'}}
        resize = {'from': 'm1.tiny', 'to': 'm1.small', 'held': True}
        successor = {'server_id': 'id-1', 'status': 'BUILD'}
        for changes, text in (
            ({'grown': False, 'pending': None, 'successor': None}, ''),
            ({'grown': True}, ' (grown)'),
            ({'pending': other}, ' (image pending)'),
            ({'resize': resize}, ' (resize to m1.small, held)'),
            ({'successor': successor}, ' (successor id-1 BUILD)'),
            (
                {'grown': True, 'successor': successor},
                ' (grown; successor id-1 BUILD)',
            ),
        ):
            with self.subTest(text):
                column = columns.Members([{**member, **changes}])

                self.assertEqual(
                    f'a ACTIVE id-0{text}', column.human_readable()
                )

    def test_members_without_a_server_are_shown_with_the_reason(self):
        member = {'path': 'a', 'status': 'TENTATIVE', 'server_id': None}
        column = columns.Members(
            [
                {**member, 'fault': {'message': 'its server was deleted'}},
                {**member, 'fault': None},
            ]
        )

        self.assertEqual(
            'a TENTATIVE (its server was deleted)\na TENTATIVE',
            column.human_readable(),
        )

    def test_changes_of_a_member_are_data_for_programs_and_text_for_people(
        self,
    ):
        pending = {'from': {'image': 'x'}, 'to': {'image': 'y'}}
        member = vrt_member.VrtMember(path='a', grown=True, pending=pending)

        column = columns.Changes(member.changes)

        self.assertEqual(
            {'grown': True, 'pending': pending}, column.machine_readable()
        )
        self.assertEqual('grown; image pending', column.human_readable())

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
