# SPDX-License-Identifier: Apache-2.0
"""Build the wheel and the source distribution of each distribution."""

import atexit
import functools
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from tests.packages import distributions

# An identity of its own: the machine's git may have none.
COMMIT = (
    *('git', '-c', 'user.name=tests', '-c', 'user.email=tests@localhost'),
    *('commit', '--quiet', '--message', 'The work tree'),
)


def run(*command, cwd):
    """Return the standard output of a command.

    :raises AssertionError: with all of its output, if the command fails
    """
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f'{command}\n{done.stdout}\n{done.stderr}')
    return done.stdout


@functools.cache
def folder():
    """Return a directory that is removed when the process ends."""
    path = pathlib.Path(tempfile.mkdtemp(prefix='nova-groupext-packages-'))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def source():
    """Return a git repository with the work tree's files and no others.

    Leftovers of earlier builds, which are ignored by git, would otherwise get
    into the archives.
    """
    copy = folder() / 'source'
    for name in tracked('.'):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(distributions.ROOT / name, target)
    for command in (('git', 'init', '-q'), ('git', 'add', '.'), COMMIT):
        run(*command, cwd=copy)
    return copy


def tracked(below):
    """Return the paths of the work tree's files below one of its folders."""
    names = run(
        *('git', 'ls-files', '-z', '--cached', '--others'),
        '--exclude-standard',
        cwd=distributions.ROOT / below,
    ).split('\0')
    return [
        name for name in names if (distributions.ROOT / below / name).is_file()
    ]


@functools.cache
def sdist(distribution):
    """Return the path of a distribution's sdist, built from git."""
    return build('--sdist', source() / distribution.folder)


@functools.cache
def wheel(distribution):
    """Return the path of a distribution's wheel, built from git."""
    return build('--wheel', source() / distribution.folder)


@functools.cache
def wheel_of_sdist(distribution):
    """Return the path of the wheel that is built from the sdist, no git."""
    unpacked = folder() / f'{distribution.name}-unpacked'
    with tarfile.open(sdist(distribution)) as archive:
        archive.extractall(unpacked, filter='data')
    (top,) = unpacked.iterdir()
    return build('--wheel', top)


def build(kind, project):
    """Return the path of the archive that is built from a folder."""
    target = pathlib.Path(tempfile.mkdtemp(dir=folder()))
    run(
        *(sys.executable, '-m', 'build', kind, '--outdir', str(target)),
        cwd=project,
    )
    (archive,) = target.iterdir()
    return archive


def contents(path):
    """Return {name: bytes} of a wheel's files, without the version."""
    with zipfile.ZipFile(path) as archive:
        return {
            unversioned(path, name): archive.read(name)
            for name in archive.namelist()
        }


def sdist_names(path):
    """Return the names of an sdist's files, below its top folder."""
    with tarfile.open(path) as archive:
        files = [each.name for each in archive if each.isfile()]
    return [name.partition('/')[2] for name in files]


def unversioned(path, name):
    """Return the name of a file in a wheel with VERSION for the version."""
    version = path.name.split('-')[1]
    return re.sub(
        rf'-{re.escape(version)}\.(data|dist-info)/', r'-VERSION.\1/', name
    )


KINDS = {'sdist': sdist, 'wheel': wheel}
