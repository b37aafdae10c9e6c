# SPDX-License-Identifier: Apache-2.0
"""Does a state directory belong to one cloud at a time?"""

import pathlib
import tempfile

from oslotest import base

from nova_groupext.cloud import errors
from nova_groupext.cloud import state


class TestOwn(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        top = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.directory = top / 'new' / 'state'

    def refusal(self, directory):
        with state.own(self.directory):
            return str(
                self.assertRaises(
                    errors.CannotStart, state.own(directory).__enter__
                )
            )

    def test_it_is_made_where_it_is_missing(self):
        with state.own(self.directory):
            self.assertTrue(self.directory.is_dir())

    def test_nobody_else_can_look_into_it(self):
        for _time in range(2):
            with state.own(self.directory):
                self.assertEqual(0o700, self.directory.stat().st_mode & 0o777)
            self.directory.chmod(0o755)

    def test_a_second_owner_is_refused(self):
        said = self.refusal(self.directory)

        self.assertIn(f'Another try-out cloud uses {self.directory}', said)

    def test_another_directory_is_free(self):
        with (
            state.own(self.directory),
            state.own(self.directory.with_name('other')),
        ):
            self.assertTrue(self.directory.with_name('other').is_dir())

    def test_the_next_owner_may_come_after_the_first(self):
        with state.own(self.directory):
            pass

        with state.own(self.directory):
            self.assertTrue(self.directory.is_dir())

    def test_somebody_elses_directory_is_left_alone(self):
        other = self.directory.with_name('other')
        other.mkdir(parents=True)
        (other / 'nova.conf').touch()

        self.assertIn(f'{other} is no state of a', self.refusal(other))
        self.assertEqual([other / 'nova.conf'], [*other.iterdir()])

    def test_what_cannot_be_a_directory_is_named(self):
        file = self.directory.parent / 'file'
        with state.own(self.directory):
            file.touch()

        for name in (file, file / 'below'):
            self.assertStartsWith(f'{name}: ', self.refusal(name))

    def assertStartsWith(self, prefix, text):
        self.assertEqual(prefix, text[: len(prefix)])
