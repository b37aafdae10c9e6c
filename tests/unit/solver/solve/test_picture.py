# SPDX-License-Identifier: Apache-2.0
"""The picture shows all there is, to everybody, and is valid."""

from xml.etree import ElementTree

from oslotest import base

from nova_groupext.solver.model import answers
from nova_groupext.solver.solve import picture
from nova_groupext.solver.solve import stages
from nova_groupext_client.drawing import style
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie

SVG = '{http://www.w3.org/2000/svg}'


class Picture:
    """A picture, taken apart."""

    def __init__(self, problem, answer=None):
        answer = answer or stages.solve(problem)
        self.code = picture.write(problem, answer.with_stats(seconds=1))
        self.root = ElementTree.fromstring(self.code.encode())
        self.tips = [e.text for e in self.root.iter(f'{SVG}title')]
        self.words = [e.text for e in self.root.iter(f'{SVG}text')]

    def kinds(self, name):
        """Elements of a class."""
        return [
            element
            for element in self.root.iter()
            if name in element.get('class', '').split()
        ]


class TestDraw(base.BaseTestCase):
    def test_members_of_other_groups_are_not_drawn_nor_counted(self):
        near = policy('affinity', 'rack', strict=False)
        problem = builders.problem(
            racks(a=(1,), b=(1,)),
            group(a=1, relationships=[tie('a', {'group': 'g'}, near)]),
            outsiders={'g/c': 'b1'},
        )

        picture = Picture(problem)

        self.assertNotIn('g/c', picture.code)
        self.assertIn('placed: 1 of 1 members', picture.code)

    def test_all_hosts_and_members_have_their_place_and_their_tip(self):
        problem = builders.problem(
            racks(a=(2, 2), b=(1,)), group(groups={'db': group(d=2)}, w=3)
        )
        picture = Picture(problem)
        for host in ('a1', 'a2', 'b1'):
            self.assertIn(host, picture.words)
            self.assertTrue(any(t.startswith(host) for t in picture.tips))
        for member in ('db/d-0', 'db/d-1', 'w-0', 'w-1', 'w-2'):
            self.assertIn(member, picture.tips)
        for domain in ('zone z', 'rack a', 'rack b'):
            self.assertIn(domain, picture.words)

    def test_stems_have_letters_in_the_legend_and_on_the_hosts(self):
        problem = builders.problem(
            racks(a=(5,)), group(groups={'db': group(d=2)}, w=3)
        )
        words = Picture(problem).words
        self.assertIn('db/d (2 of 2)', words)
        self.assertIn('w (3 of 3)', words)
        self.assertEqual((1 + 2, 1 + 3), (words.count('A'), words.count('B')))

    def test_letters_go_on_after_the_last(self):
        letters = [style.letters(number) for number in range(800)]
        self.assertEqual(
            ['A', 'Z', 'AA', 'AB'], [letters[n] for n in (0, 25, 26, 27)]
        )
        self.assertEqual(len(letters), len(set(letters)))

    def test_a_bar_shows_what_is_taken_of_what_is_free(self):
        classes = {
            'disk': {
                'request': {'VCPU': 9},
                'alternatives': {'a1': [{'VCPU': 9}, {'VCPU': 2, 'X': 0}]},
            }
        }
        members = group(d={'class': 'disk'}, w=2)
        problem = builders.problem(racks(a=(8,)), members, classes)
        self.assertIn('VCPU 4 of 8', Picture(problem).words)

    def test_a_server_that_is_there_already_takes_nothing_of_what_is_free(
        self,
    ):
        problem = builders.problem(
            racks(a=(0, 1)), group(w=2), pinned={'w-0': 'a1'}
        )
        picture = Picture(problem)
        self.assertEqual(1, len(picture.kinds('pinned')))
        self.assertIn('w-0\n(a server already)', picture.tips)
        self.assertNotIn('VCPU 1 of 0', picture.words)

    def test_a_crowd_is_drawn_as_a_number(self):
        problem = builders.problem(racks(a=(99,)), group(v=10, w=60))
        picture = Picture(problem)
        self.assertIn('A \u00d7 10', picture.words)
        self.assertIn('B \u00d7 60', picture.words)
        self.assertTrue(any('w-39\nand 20 more' in t for t in picture.tips))

    def test_any_name_makes_valid_xml(self):
        odd = '<&>"\'\x00\x1b\n\ud800\ufffe]]>'
        problem = builders.problem(
            [builders.host(odd, odd, odd), builders.host('h', cpu=0)],
            group(**{odd: 2}),
            levels=['host', 'rack', 'zone'],
        )
        picture = Picture(problem)
        shown = '<&>"\'\ufffd\ufffd\n\ufffd\ufffd]]>'
        self.assertIn(f'{shown}-1', picture.tips)

    def test_nothing_is_fetched_from_elsewhere(self):
        problem = builders.problem(racks(a=(2,)), group(w=2))
        code = Picture(problem).code
        self.assertEqual(1, code.count('http'))
        for word in ('href', 'url(', '@import', '<script'):
            self.assertNotIn(word, code)

    def test_hosts_without_a_domain_and_levels_of_every_number(self):
        for levels in (['host'], ['host', 'rack'], ['host', 'r', 'rack', 'z']):
            hosts = [{'id': 'h', 'free': {'VCPU': 2}}]
            picture = Picture(
                builders.problem(hosts, group(w=2), levels=levels)
            )
            self.assertIn('h', picture.words)
            for level in {*levels[1:2], *levels[1:][-1:]}:
                self.assertIn(f'no {level}', picture.words)

    def test_what_is_not_placed_is_said_and_the_hosts_are_shown(self):
        far = policy('anti-affinity', 'rack')
        problem = builders.problem(
            racks(a=(2, 2)), group([far], w=3), pinned={'w-1': 'a2'}
        )
        for answer in (
            stages.solve(problem),
            answers.undecided({'stage': 'start', 'cut_short': True}),
        ):
            picture = Picture(problem, answer)
            self.assertTrue(picture.tips[0].startswith(answer.status))
            self.assertIn('a1', picture.words)
            self.assertIn('w-1\n(a server already)', picture.tips)

    def test_a_large_cloud_stays_small(self):
        hosts = [
            builders.host(
                f'h{n}', f'r{n // 40}', f'z{n // 400}', n % 2, n % 3 == 0
            )
            for n in range(2000)
        ]
        picture = Picture(builders.problem(hosts, group(w=9)))
        cells = picture.kinds('cell')
        boxes = picture.kinds('host') + picture.kinds('shared')
        self.assertEqual(2000, len(cells) + len(boxes))
        self.assertLess(len(boxes), 10)
        self.assertLess(len(picture.code), 2000 * 400)

    def test_domains_that_are_used_come_first_and_in_their_order(self):
        hosts = [
            builders.host(f'h{n}', f'r{n}', 'z', cpu)
            for n, cpu in enumerate([0, 0, 1] + [0] * 7 + [1])
        ]
        words = Picture(builders.problem(hosts, group(w=2))).words
        shown = [word for word in words if word.startswith('rack ')]
        self.assertEqual(
            ['rack r2', 'rack r10', 'rack r0', 'rack r1', 'rack r3'],
            shown[:5],
        )
