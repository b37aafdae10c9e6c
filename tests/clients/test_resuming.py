# SPDX-License-Identifier: Apache-2.0
"""Does going on heed what others have done with the group meanwhile?"""

import fixtures

from tests.clients import base
from tests.clients import deploying


class TestResuming(deploying.DeployTestCase):
    def test_a_group_that_is_changed_meanwhile_is_told(self):
        loaded = self.load(webs=1)
        with self.deploying(loaded) as made:
            made.describe(name=loaded.name)
        self.addCleanup(self.forget, made.group)
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
            told = self.refused(
                '--resume', loaded.name, '--parameter', 'webs=1'
            )

        self.assertIn(f'Group {loaded.name} was changed meanwhile', told)
        self.assertIn(f'vrt group show {made.group.id}', told)
        self.assertIn('To go on:', told)
        self.assertIn('To undo:', told)
        self.assertEqual({}, self.servers_of(made.group))
