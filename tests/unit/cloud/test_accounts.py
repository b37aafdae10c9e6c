# SPDX-License-Identifier: Apache-2.0
"""Tokens and passwords of the try-out cloud's accounts."""

import pathlib
import subprocess
import sys
import tempfile

from oslotest import base

from nova_groupext.cloud import accounts


class TestSecret(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, accounts, '_secret', accounts._secret)
        top = self.enterContext(tempfile.TemporaryDirectory())
        self.file = pathlib.Path(top, 'secret')

    def secrets(self):
        return {
            text
            for account in accounts.ACCOUNTS
            for text in (account.token, account.password)
        }

    def test_secrets_are_distinct_and_name_no_account(self):
        secrets = self.secrets()
        self.assertEqual(2 * len(accounts.ACCOUNTS), len(secrets))
        self.assertFalse([each for each in secrets if len(each) != 64])

    def test_secret_survives_a_restart(self):
        accounts.load_secret(self.file)
        before = self.secrets()
        self.assertEqual(0o600, self.file.stat().st_mode & 0o777)

        accounts._secret = 'another'
        self.assertEqual(set(), before & self.secrets())
        accounts.load_secret(self.file)

        self.assertEqual(before, self.secrets())

    def test_every_process_makes_its_own_secret(self):
        program = (
            'from nova_groupext.cloud import accounts\n'
            'print(accounts.ADMIN.token)'
        )
        [first], [second] = (
            subprocess.check_output(
                [sys.executable, '-c', program], text=True
            ).split()
            for _process in range(2)
        )

        self.assertNotEqual(first, second)

    def test_another_cloud_has_other_tokens(self):
        accounts.load_secret(self.file)
        before = accounts.ADMIN.token
        self.assertEqual('admin', accounts.by_token(before).name)

        accounts._secret = 'another'

        self.assertIsNone(accounts.by_token(before))
        for token in (None, '', 'tryout-admin', 'tryout-é'):
            self.assertIsNone(accounts.by_token(token))
