# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-cloud, as far as it can be told without a cloud."""

import contextlib
import io

from oslotest import base

from nova_groupext.cmd import cloud


class TestArguments(base.BaseTestCase):
    def refusal(self, *args):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            exc = self.assertRaises(SystemExit, cloud.main, args)
        self.assertEqual(2, exc.code)
        return err.getvalue()

    def test_a_port_that_is_none(self):
        for port in ('65536', '-1', 'http'):
            self.assertIn('from 0 to 65535', self.refusal(f'--port={port}'))

    def test_a_number_of_hosts_that_is_none(self):
        for hosts in ('0', '-1', 'many'):
            self.assertIn('from 1 up', self.refusal(f'--hosts={hosts}'))
