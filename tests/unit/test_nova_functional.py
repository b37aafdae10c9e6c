# SPDX-License-Identifier: Apache-2.0
"""The comparison of both sides, and its document."""

import pathlib
import tempfile

from oslotest import base

from tests.nova_functional import document
from tests.nova_functional import names
from tests.nova_functional import results

NAME = 'nova.tests.functional.test_servers.ServersTest.test_it'


def result(status, text='', **others):
    return {'status': status, 'text': text, 'seconds': 2.0, **others}


class TestResults(base.BaseTestCase):
    """Results of one test."""

    def setUp(self):
        super().setUp()
        self.found = results.Results()

    def add(self, stock, ours, *, alone=False):
        for side, status in zip(names.SIDES, (stock, ours), strict=True):
            self.found.add(NAME, side, result(status, 'Why'), alone=alone)

    def test_same_result_of_both_is_the_verdict(self):
        for status, verdict in (
            ('passed', results.PASSED),
            ('skipped', results.SKIPPED),
            ('failed', results.FAILED),
        ):
            self.add(status, status)

            self.assertEqual(verdict, self.found.verdict(NAME))

    def test_failure_of_one_side_is_its_verdict(self):
        self.add('passed', 'failed')
        self.assertEqual(results.ONLY_STOCK, self.found.verdict(NAME))

        self.add('failed', 'passed')
        self.assertEqual(results.ONLY_OURS, self.found.verdict(NAME))

    def test_skip_with_ours_only_is_a_failure_of_ours(self):
        self.add('passed', 'skipped')

        self.assertEqual(results.ONLY_STOCK, self.found.verdict(NAME))
        self.assertEqual('Why', self.found.failure(NAME)['text'])

    def test_failure_that_comes_again_alone_stays(self):
        self.add('passed', 'failed')
        self.add('passed', 'failed', alone=True)

        self.assertEqual(results.ONLY_STOCK, self.found.verdict(NAME))

    def test_failure_that_does_not_come_again_is_unstable(self):
        for again in ('passed', 'failed'):
            self.add('passed', 'failed')
            self.add(again, again, alone=True)

            self.assertEqual(results.UNSTABLE, self.found.verdict(NAME))
            self.assertEqual('Why', self.found.failure(NAME)['text'])

    def test_test_of_one_side_is_not_compared(self):
        self.found.add(NAME, names.OURS, result('failed'))

        self.assertEqual([], self.found.tests())

    def test_kept_results_are_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / 'kept'
            self.found = results.Results(file)
            self.add('passed', 'failed')
            self.add('passed', 'passed', alone=True)

            read = results.Results(file)

        self.assertEqual([NAME], read.tests())
        self.assertEqual(results.UNSTABLE, read.verdict(NAME))

    def test_document_has_a_row_per_module_and_names_exceptions(self):
        self.add('failed', 'failed')

        text = document.rst(self.found, 3)

        self.assertIn(
            '   * - ``test_servers``\n     - 1\n     -\n     -\n     - 1\n',
            text,
        )
        self.assertIn(
            'Fail with both:\n\n'
            '* ``test_servers.ServersTest.test_it``:\n'
            '  ``Why``\n',
            text,
        )
