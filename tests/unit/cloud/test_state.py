# SPDX-License-Identifier: Apache-2.0
"""State directories, each owned by one try-out cloud at a time."""

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

    def error_response(self, directory):
        with state.own(self.directory):
            return str(
                self.assertRaises(
                    errors.CannotStart, state.own(directory).__enter__
                )
            )

    def test_missing_directory_is_created(self):
        with state.own(self.directory):
            self.assertTrue(self.directory.is_dir())

    def test_directory_is_accessible_only_to_its_owner(self):
        for _time in range(2):
            with state.own(self.directory):
                self.assertEqual(0o700, self.directory.stat().st_mode & 0o777)
            self.directory.chmod(0o755)

    def test_a_second_owner_is_refused(self):
        said = self.error_response(self.directory)

        self.assertIn(f'Another try-out cloud uses {self.directory}', said)

    def test_another_directory_can_be_owned_at_once(self):
        with (
            state.own(self.directory),
            state.own(self.directory.with_name('other')),
        ):
            self.assertTrue(self.directory.with_name('other').is_dir())

    def test_directory_can_be_owned_after_its_release(self):
        with state.own(self.directory):
            pass

        with state.own(self.directory):
            self.assertTrue(self.directory.is_dir())

    def test_directory_with_other_files_is_refused(self):
        other = self.directory.with_name('other')
        other.mkdir(parents=True)
        (other / 'nova.conf').touch()

        self.assertIn(
            f'{other} is not empty and not the state of a',
            self.error_response(other),
        )
        self.assertEqual([other / 'nova.conf'], [*other.iterdir()])

    def test_path_that_is_no_directory_is_named(self):
        file = self.directory.parent / 'file'
        with state.own(self.directory):
            file.touch()

        for name in (file, file / 'below'):
            self.assertStartsWith(f'{name}: ', self.error_response(name))

    def assertStartsWith(self, prefix, text):
        self.assertEqual(prefix, text[: len(prefix)])
