# SPDX-License-Identifier: Apache-2.0
"""The committed lists of the files in every archive.

Run as a program, this module writes them.
"""

import pathlib

from tests.packages import archives
from tests.packages import distributions

FOLDER = pathlib.Path(__file__).parent / 'files'

# What is under these in an sdist is told by git, not by the list.
SHORTENED = ('doc', 'nova_groupext', 'releasenotes', 'tests', 'tools')


def wheel(distribution):
    """Return the lines of the list of a wheel's files."""
    return sorted(archives.contents(archives.wheel(distribution)))


def sdist(distribution):
    """Return the lines of the list of an sdist's files."""
    names = archives.sdist_names(archives.sdist(distribution))
    return sorted({_shortened(name) for name in names})


def _shortened(name):
    top, slash, _rest = name.partition('/')
    return f'{top}/...' if slash and top in SHORTENED else name


KINDS = {'wheel': wheel, 'sdist': sdist}


def path(distribution, kind):
    """Return the path of the committed list of an archive's files."""
    return FOLDER / f'{distribution.name}.{kind}.txt'


def main():
    """Write every list."""
    for distribution in distributions.ALL:
        for kind, lines in KINDS.items():
            text = ''.join(f'{line}\n' for line in lines(distribution))
            path(distribution, kind).write_text(text)


if __name__ == '__main__':
    main()
