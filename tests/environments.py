# SPDX-License-Identifier: Apache-2.0
"""Environments of programs that cannot be installed beside Nova."""

import pathlib
import subprocess
import venv

from oslo_concurrency import lockutils

TOP = pathlib.Path(__file__).parents[1]


def make(name: str, *requirements: str) -> pathlib.Path:
    """Return the folder of an environment, which is made if it is missing.

    :param name: of the folder, in ``.tox``
    :param requirements: arguments of ``pip install``
    """
    folder = TOP / '.tox' / name
    installed = folder / 'installed.txt'
    wanted = '\n'.join(requirements)
    with lockutils.external_lock(f'{name}.lock', lock_path=str(folder.parent)):
        if not installed.exists() or installed.read_text() != wanted:
            _install(folder, requirements)
            installed.write_text(wanted)
    return folder


def _install(folder: pathlib.Path, requirements: tuple[str, ...]) -> None:
    venv.create(folder, clear=True, with_pip=True)
    pip = str(folder / 'bin/pip')
    subprocess.run(
        [pip, 'install', '--quiet', '--no-compile', *requirements], check=True
    )
