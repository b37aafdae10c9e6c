# SPDX-License-Identifier: Apache-2.0
"""Contents of the wheels and source distributions."""

import itertools

import testtools

from tests.packages import archives
from tests.packages import distributions
from tests.packages import lists

WRITE = 'python -m tests.packages.lists writes the lists anew.'

# They tell of the build; what is in the wheel is compared itself.
OF_THE_BUILD = ('RECORD', 'pbr.json')


class TestArchives(testtools.TestCase):
    def test_archives_have_the_files_of_the_committed_lists(self):
        for distribution in distributions.ALL:
            for kind, lines in lists.KINDS.items():
                path = lists.path(distribution, kind)
                committed = set(path.read_text().splitlines())
                found = set(lines(distribution))
                self.assertEqual(
                    {'missing': set(), 'unexpected': set()},
                    {
                        'missing': committed - found,
                        'unexpected': found - committed,
                    },
                    f'{path.name}: {WRITE}',
                )

    def test_sdist_has_every_tracked_file(self):
        for distribution in distributions.ALL:
            folders = tuple(f'{name}/' for name in distribution.pruned)
            expected = {
                name
                for name in archives.tracked(distribution.folder)
                if not name.startswith(folders)
            }
            names = archives.sdist_names(archives.sdist(distribution))

            self.assertEqual(set(), expected - set(names) - {'.gitignore'})

    def test_sdist_builds_the_same_wheel_without_git(self):
        for distribution in distributions.ALL:
            from_git, from_sdist = (
                {
                    name: content
                    for name, content in archives.contents(path).items()
                    if not name.endswith(OF_THE_BUILD)
                }
                for path in (
                    archives.wheel(distribution),
                    archives.wheel_of_sdist(distribution),
                )
            )

            self.assertEqual(set(from_git), set(from_sdist))
            differing = [
                name for name in from_git if from_git[name] != from_sdist[name]
            ]
            self.assertEqual([], differing)

    def test_wheels_have_no_file_in_common(self):
        for pair in itertools.combinations(distributions.ALL, 2):
            one, other = (
                set(archives.contents(archives.wheel(each))) for each in pair
            )
            self.assertEqual(set(), one & other)
