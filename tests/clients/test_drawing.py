# SPDX-License-Identifier: Apache-2.0
"""Maps, pictures and explanations of groups."""

import io
import types
from xml.etree import ElementTree

from oslotest import base

from nova_groupext_client import sentences
from nova_groupext_client.drawing import picture
from nova_groupext_client.drawing import text
from nova_groupext_client.osc import progress

SVG = '{http://www.w3.org/2000/svg}'
SUM = '8ad174dfd7b71e2b452b1038c914c4feb55287f48c6652d780791c81'


def member(path, rack=None, status='HELD', host=SUM, **more):
    domains = {'host': host, 'rack': rack, 'zone': 'az1'} if rack else {}
    return {
        'path': path,
        'status': status,
        'server_id': None,
        'fault': None,
        'domains': domains,
        **more,
    }


def group(*members, **attrs):
    attrs = {'status': 'HELD', 'fault': None, 'refusal': None, **attrs}
    return types.SimpleNamespace(
        **{'id': 'uuid', 'name': 'shop', 'revision': None, **attrs},
        members=members,
    )


class TestMap(base.BaseTestCase):
    def test_successors_are_counted(self):
        successor = {'server_id': 'id-1', 'status': 'ACTIVE'}
        succeeded = {**member('web-0', 'r2', 'ACTIVE'), 'successor': successor}

        drawn = text.write(group(succeeded), 80)

        self.assertTrue(
            drawn.startswith(
                'shop: HELD, 1 of 1 members have a host; successors: 1\n'
            )
        )

    def test_domains_are_sorted_and_their_ids_shortened(self):
        drawn = text.write(
            group(
                member('web-0', 'r10'),
                member('web-1', 'r2', 'ACTIVE'),
                member('web-2', 'r2', 'REDEEMING'),
                member('db', 'r2', 'TENTATIVE', '9' * 56),
                member('db-1', 'r2', 'LEAVING', '9' * 56),
            ),
            80,
        )

        self.assertEqual(
            'shop: HELD, 5 of 5 members have a host\n'
            'zone az1\n'
            '  rack r2\n'
            '    host 8ad174df:  web-1*  web-2~\n'
            '    host 99999999:  db?  db-1-\n'
            '  rack r10\n'
            '    host 8ad174df:  web-0\n'
            '\n'
            '? planned, not held, ~ server is being created, * has a server, '
            '- has a server that is to go\n',
            drawn,
        )

    def test_members_without_a_host_are_listed_by_reason(self):
        drawn = text.write(
            group(
                member(
                    'a',
                    status='FAILED',
                    fault={'message': 'Its host\nis gone.'},
                ),
                member('b', status='RELEASED'),
                member('c', status='RELEASED'),
            ),
            80,
        )

        self.assertEqual(
            'shop: HELD, 0 of 3 members have a host\n'
            'without a host\n'
            '  FAILED, Its host?is gone.:  a\n'
            '  RELEASED:  b  c\n',
            drawn,
        )

    def test_hosts_without_a_rack_come_last_in_their_zone(self):
        stray = member('stray', domains={'host': '9' * 56, 'zone': 'az1'})

        drawn = text.write(group(stray, member('a', 'r1')), 80)

        self.assertIn(
            'zone az1\n'
            '  rack r1\n'
            '    host 8ad174df:  a\n'
            '  no rack\n'
            '    host 99999999:  stray\n',
            drawn,
        )

    def test_admins_see_host_names(self):
        drawn = text.write(group(member('a', 'r1', **{'host': 'cmp-7'})), 80)

        self.assertIn('host cmp-7:  a\n', drawn)

    def test_long_lines_are_wrapped(self):
        members = [member(f'front/web-{n}', 'r1') for n in range(40)]

        drawn = text.write(group(*members), 60)

        self.assertLessEqual(max(map(len, drawn.splitlines())), 60)
        for each in members:
            self.assertIn(f'  {each["path"]}', drawn)

    def test_control_characters_in_names_are_replaced(self):
        drawn = text.write(
            group(member('a\x1b[2J', 'r\x1b[2J'), name='x\x07'), 80
        )

        self.assertNotIn('\x1b', drawn)
        self.assertNotIn('\x07', drawn)


class TestPicture(base.BaseTestCase):
    def test_picture_shows_all_members_with_any_names(self):
        members = [
            member('front/<&>-0', 'r1'),
            member('front/<&>-1', 'r"2\x00', 'ACTIVE', server_id='uuid'),
            member('db', status='FAILED', fault={'message': 'gone'}),
        ]

        root = ElementTree.fromstring(picture.write(group(*members)))

        tips = [e.text.splitlines() for e in root.iter(f'{SVG}title')]
        for each in members:
            self.assertIn(
                [each['path'], each['status']], [t[:2] for t in tips]
            )
        labels = [e.text for e in root.iter(f'{SVG}text')]
        self.assertIn('front/<&> (2)', labels)
        self.assertIn('without a host', labels)
        kinds = [e.get('class', '').split()[:1] for e in root.iter(f'{SVG}g')]
        self.assertEqual(1, kinds.count(['pinned']))


class TestExplanations(base.BaseTestCase):
    def test_successful_group_has_no_explanation(self):
        planning = {
            'status': 'PLANNING',
            'origin': 'request',
            'fault': None,
            'refusal': None,
        }

        self.assertIsNone(sentences.explain_failure(group()))
        self.assertIsNone(sentences.explain_failure(group(revision=planning)))

    def test_undecided_and_failed_groups_are_explained(self):
        for status, fault, expected in (
            ('UNDECIDED', None, 'Neither a plan nor a proof that none exists'),
            (
                'UNDECIDED',
                {'message': 'Others were faster.'},
                'Others were faster.',
            ),
            ('ERROR', {'message': 'It broke.'}, 'It broke.'),
        ):
            told = sentences.explain_failure(group(status=status, fault=fault))

            self.assertIn(f'Group shop (uuid) is {status}.', told)
            self.assertIn(expected, told)
            for way in ('hold uuid', 'delete uuid', 'set uuid'):
                self.assertIn(f'openstack vrt group {way}', told)

    def test_conflict_that_is_not_minimal_is_marked(self):
        refusal = {
            'conflict': [{'text': '3 db in data'}],
            'minimal': False,
            'reason': None,
            'relaxations': [],
        }

        self.assertEqual(
            [
                'These requirements conflict (possibly not all of them are '
                'needed):',
                '  - 3 db in data',
            ],
            sentences.format_refusal(refusal),
        )


class TestProgress(base.BaseTestCase):
    def test_progress_line_is_erased_at_the_end(self):
        stream = io.StringIO()
        stream.isatty = lambda: True

        with progress.Line(stream) as line:
            line.show(group(member('a'), member('b', status='FAILED')))
            shown = stream.getvalue()

        self.assertIn('shop: HELD (1 HELD, 1 FAILED)', shown)
        self.assertEqual('', stream.getvalue().split('\r')[-2].strip())

    def test_progress_line_is_not_written_to_a_file(self):
        stream = io.StringIO()

        with progress.Line(stream) as line:
            line.show(group())

        self.assertEqual('', stream.getvalue())
