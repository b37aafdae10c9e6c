# SPDX-License-Identifier: Apache-2.0
"""Are tokens and passwords known to nobody but the cloud's owner?"""

import pathlib
import tempfile

from oslotest import base

from nova_groupext.cloud import accounts


class TestSecret(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, accounts, '_secret', accounts._secret)
        top = self.enterContext(tempfile.TemporaryDirectory())
        self.file = pathlib.Path(top, 'secret')

    def told(self):
        return {
            text
            for account in accounts.ACCOUNTS
            for text in (account.token, account.password)
        }

    def test_all_are_different_and_none_says_whose_it_is(self):
        told = self.told()
        self.assertEqual(2 * len(accounts.ACCOUNTS), len(told))
        self.assertFalse([each for each in told if len(each) != 64])

    def test_it_stays_over_a_restart(self):
        accounts.keep_secret(self.file)
        before = self.told()
        self.assertEqual(0o600, self.file.stat().st_mode & 0o777)

        accounts._secret = 'another'
        self.assertEqual(set(), before & self.told())
        accounts.keep_secret(self.file)

        self.assertEqual(before, self.told())

    def test_another_cloud_has_others(self):
        accounts.keep_secret(self.file)
        before = accounts.ADMIN.token
        self.assertEqual('admin', accounts.by_token(before).name)

        accounts._secret = 'another'

        self.assertIsNone(accounts.by_token(before))
        for token in (None, '', 'tryout-admin', 'tryout-é'):
            self.assertIsNone(accounts.by_token(token))
