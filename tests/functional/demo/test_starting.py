# SPDX-License-Identifier: Apache-2.0
"""The start of tools/demo: its environment, output and exit status."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from oslotest import base

DEMO = pathlib.Path(__file__).parents[3] / 'tools' / 'demo'

# Answers as tox does, and makes no environment but a link to this Python.
TOX = """\
#!/usr/bin/env bash
echo "$*" >> {folder}/asked
case "$*" in
    *config*) echo '[testenv:tests]'; echo 'env_python = {folder}/python' ;;
    *--notest*) {make} ;;
    *) exit 9 ;;
esac
"""
STORY = """\
import pathlib, sys
print('told in', pathlib.Path.cwd(), sys.argv[1:])
sys.exit(3)
"""
MAKING = 'Making the tests'


class TestStarting(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        self.work_dir = self.enterContext(tempfile.TemporaryDirectory())
        for tool in (DEMO, DEMO.with_name('in-tests')):
            shutil.copy(tool, self.folder)
        (self.folder / 'demo.py').write_text(STORY)
        self.tox_makes(f'ln -sf {sys.executable} {self.folder}/python')

    def tox_makes(self, make):
        tox = self.folder / 'with-tox'
        tox.write_text(TOX.format(folder=self.folder, make=make))
        tox.chmod(0o755)

    def run_it(self, *args):
        return subprocess.run(
            [self.folder / 'demo', *args],
            cwd=self.work_dir,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def test_demo_exits_with_the_status_of_the_story(self):
        ended = self.run_it('--state-dir', 'x')

        self.assertEqual(3, ended.returncode, ended.stderr)
        self.assertEqual(
            f"told in {self.work_dir} ['--state-dir', 'x']\n",
            ended.stdout,
        )

    def test_only_the_first_run_announces_the_environment(self):
        self.assertIn(MAKING, self.run_it().stderr)
        self.assertEqual('', self.run_it().stderr)

    def test_every_run_calls_tox_quietly(self):
        self.run_it()
        self.run_it()

        asked = (self.folder / 'asked').read_text().splitlines()
        self.assertEqual(2, sum('--notest' in each for each in asked))
        self.assertTrue(all(each.startswith('-qq ') for each in asked))

    def test_failed_environment_ends_the_demo(self):
        self.tox_makes('exit 1')

        ended = self.run_it()

        self.assertEqual((1, ''), (ended.returncode, ended.stdout))


class TestOptions(base.BaseTestCase):
    def test_existing_state_dir_is_refused(self):
        with tempfile.TemporaryDirectory() as there:
            ended = subprocess.run(
                [sys.executable, f'{DEMO}.py', '--state-dir', there],
                capture_output=True,
                text=True,
            )

        self.assertEqual((2, ''), (ended.returncode, ended.stdout))
        self.assertIn(f'{there} cannot be made', ended.stderr)
        self.assertNotIn('Traceback', ended.stderr)
