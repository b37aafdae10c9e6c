# SPDX-License-Identifier: Apache-2.0
"""Pictures of answers: complete and self-contained SVG."""

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
    """A picture and its elements."""

    def __init__(self, problem, answer=None):
        answer = answer or stages.solve(problem)
        self.code = picture.write(problem, answer.with_stats(seconds=1))
        self.root = ElementTree.fromstring(self.code.encode())
        self.tooltips = [e.text for e in self.root.iter(f'{SVG}title')]
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

    def test_all_hosts_and_members_are_drawn_with_tooltips(self):
        problem = builders.problem(
            racks(a=(2, 2), b=(1,)), group(groups={'db': group(d=2)}, w=3)
        )
        picture = Picture(problem)
        for host in ('a1', 'a2', 'b1'):
            self.assertIn(host, picture.words)
            self.assertTrue(any(t.startswith(host) for t in picture.tooltips))
        for member in ('db/d-0', 'db/d-1', 'w-0', 'w-1', 'w-2'):
            self.assertIn(member, picture.tooltips)
        for domain in ('zone z', 'rack a', 'rack b'):
            self.assertIn(domain, picture.words)

    def test_member_sets_have_letters_in_legend_and_hosts(self):
        problem = builders.problem(
            racks(a=(5,)), group(groups={'db': group(d=2)}, w=3)
        )
        words = Picture(problem).words
        self.assertIn('db/d (2 of 2)', words)
        self.assertIn('w (3 of 3)', words)
        self.assertEqual((1 + 2, 1 + 3), (words.count('A'), words.count('B')))

    def test_letters_continue_after_z(self):
        letters = [style.letters(number) for number in range(800)]
        self.assertEqual(
            ['A', 'Z', 'AA', 'AB'], [letters[n] for n in (0, 25, 26, 27)]
        )
        self.assertEqual(len(letters), len(set(letters)))

    def test_bar_shows_the_used_share_of_free_capacity(self):
        classes = {
            'disk': {
                'request': {'VCPU': 9},
                'alternatives': {'a1': [{'VCPU': 9}, {'VCPU': 2, 'X': 0}]},
            }
        }
        members = group(d={'class': 'disk'}, w=2)
        problem = builders.problem(racks(a=(8,)), members, classes)
        self.assertIn('VCPU 4 of 8', Picture(problem).words)

    def test_pinned_member_takes_no_free_capacity(self):
        problem = builders.problem(
            racks(a=(0, 1)), group(w=2), pinned={'w-0': 'a1'}
        )
        picture = Picture(problem)
        self.assertEqual(1, len(picture.kinds('pinned')))
        self.assertIn('w-0\n(existing server)', picture.tooltips)
        self.assertNotIn('VCPU 1 of 0', picture.words)

    def test_many_members_of_a_host_are_drawn_as_a_number(self):
        problem = builders.problem(racks(a=(99,)), group(v=10, w=60))
        picture = Picture(problem)
        self.assertIn('A \u00d7 10', picture.words)
        self.assertIn('B \u00d7 60', picture.words)
        self.assertTrue(
            any('w-39\nand 20 more' in t for t in picture.tooltips)
        )

    def test_any_name_makes_valid_xml(self):
        special = '<&>"\'\x00\x1b\n\ud800\ufffe]]>'
        problem = builders.problem(
            [
                builders.host(special, special, special),
                builders.host('h', cpu=0),
            ],
            group(**{special: 2}),
            levels=['host', 'rack', 'zone'],
        )
        picture = Picture(problem)
        shown = '<&>"\'\ufffd\ufffd\n\ufffd\ufffd]]>'
        self.assertIn(f'{shown}-1', picture.tooltips)

    def test_picture_has_no_external_reference(self):
        problem = builders.problem(racks(a=(2,)), group(w=2))
        code = Picture(problem).code
        self.assertEqual(1, code.count('http'))
        for word in ('href', 'url(', '@import', '<script'):
            self.assertNotIn(word, code)

    def test_hosts_without_a_domain_are_drawn_with_any_levels(self):
        for levels in (['host'], ['host', 'rack'], ['host', 'r', 'rack', 'z']):
            hosts = [{'id': 'h', 'free': {'VCPU': 2}}]
            picture = Picture(
                builders.problem(hosts, group(w=2), levels=levels)
            )
            self.assertIn('h', picture.words)
            for level in {*levels[1:2], *levels[1:][-1:]}:
                self.assertIn(f'no {level}', picture.words)

    def test_answer_without_a_plan_shows_its_status_and_hosts(self):
        far = policy('anti-affinity', 'rack')
        problem = builders.problem(
            racks(a=(2, 2)), group([far], w=3), pinned={'w-1': 'a2'}
        )
        for answer in (
            stages.solve(problem),
            answers.undecided({'stage': 'start', 'cut_short': True}),
        ):
            picture = Picture(problem, answer)
            self.assertTrue(picture.tooltips[0].startswith(answer.status))
            self.assertIn('a1', picture.words)
            self.assertIn('w-1\n(existing server)', picture.tooltips)

    def test_picture_of_a_large_cloud_is_small(self):
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

    def test_used_domains_come_first_in_natural_order(self):
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
