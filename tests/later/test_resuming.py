# SPDX-License-Identifier: Apache-2.0
"""Resumed deployments of groups that change concurrently."""

import fixtures

from tests.clients import base
from tests.later import deploying


class TestResuming(deploying.DeployTestCase):
    def test_concurrent_change_of_the_group_is_reported(self):
        loaded = self.load(webs=1)
        with self.create_deployment(loaded) as made:
            made.describe(name=loaded.name)
        self.addCleanup(self.delete_group_and_servers, made.group)
        find = type(self.vrt).find_group

        def find_and_revise(vrt, *args, **kwargs):
            found = find(vrt, *args, **kwargs)
            self.vrt.create_member(
                found, path='late', flavor='m1.tiny', image=base.CIRROS
            )
            return found

        with fixtures.MockPatchObject(
            type(self.vrt), 'find_group', find_and_revise
        ):
            told = self.deploy_refusal(
                '--resume', loaded.name, '--parameter', 'webs=1'
            )

        self.assertIn(f'Group {loaded.name} was changed meanwhile', told)
        self.assertIn(f'vrt group show {made.group.id}', told)
        self.assertIn('To continue:', told)
        self.assertIn('To undo:', told)
        self.assertEqual({}, self.servers_of(made.group))
