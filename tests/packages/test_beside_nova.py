# SPDX-License-Identifier: Apache-2.0
"""A control plane: Nova and our distributions in one environment.

Nova is installed with OpenStack's constraints, our distributions without
any, as operators do: the versions in Nova's environment must suffice.
"""

import testtools

from tests.packages import archives
from tests.packages import distributions
from tests.packages import environment

# All that a control plane gets; the rest was there.
ADDED = {'highspy', *(each.name for each in distributions.OF_A_CONTROL_PLANE)}


class TestBesideNova(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.nova = environment.Environment()
        cls.addClassCleanup(cls.nova.cleanUp)
        cls.nova.setUp()
        cls.nova.install('nova', constraints=environment.CONSTRAINTS)
        cls.versions = cls.nova.versions()
        cls.files = cls.nova.files()

    def install(self, kind):
        """Install our distributions into Nova's environment for one test."""
        build = archives.KINDS[kind]
        self.addCleanup(self.nova.uninstall, ADDED)
        self.nova.install(*map(build, distributions.OF_A_CONTROL_PLANE))

    def check(self, kind):
        self.install(kind)

        self.nova.run('pip', 'check')
        after = self.nova.versions()
        kept = {name: after.get(name) for name in self.versions}
        self.assertEqual(self.versions, kept)
        self.assertEqual(ADDED, set(after) - set(self.versions))
        for each in distributions.OF_A_CONTROL_PLANE:
            self.assertEqual(
                each.entry_points_without_extras,
                self.nova.load_entry_points(each, but=each.optional),
            )

    def test_wheels_change_no_version(self):
        self.check('wheel')

    def test_sdists_change_no_version(self):
        self.check('sdist')

    def test_uninstalling_leaves_no_file(self):
        self.install('wheel')
        self.assertNotEqual(self.files, self.nova.files())

        self.nova.uninstall(ADDED)

        self.assertEqual(self.files, self.nova.files())

    def test_try_out_cloud_without_its_extra_names_the_extra(self):
        self.install('wheel')

        status, _out, err = self.nova.attempt('nova-groupext-cloud')

        self.assertEqual(1, status)
        self.assertRegex(
            err,
            r'^nova-groupext-cloud: \w+ is not installed; '
            r"pip install 'nova-groupext\[cloud\]' installs it\.\n\Z",
        )
