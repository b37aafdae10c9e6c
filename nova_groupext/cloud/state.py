# SPDX-License-Identifier: Apache-2.0
"""State directory of a try-out cloud."""

import contextlib
import fcntl

from nova_groupext.cloud import errors

PRIVATE = 0o700


@contextlib.contextmanager
def own(directory):
    """Create a directory if it is missing, and lock it for one cloud.

    The kernel releases the lock when the process ends, however it ends.

    :raises errors.CannotStart: if another cloud uses the directory, it
        contains other files, or it cannot be created or written
    """
    lock = directory / 'lock'
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        if not lock.exists() and any(directory.iterdir()):
            raise errors.CannotStart(
                f'{directory} is not empty and not the state of a try-out '
                'cloud; name a new directory.'
            )
        # The directory contains passwords, databases and logs.
        directory.chmod(PRIVATE)
        file = lock.open('w')
    except OSError as exc:
        raise errors.CannotStart(f'{directory}: {exc.strerror}') from exc
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise errors.CannotStart(
                f'Another try-out cloud uses {directory}; stop it, or name '
                'another directory.'
            ) from None
        yield
