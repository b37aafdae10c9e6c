# SPDX-License-Identifier: Apache-2.0
"""The directory in which a try-out cloud keeps everything."""

import contextlib
import fcntl

from nova_groupext.cloud import errors

PRIVATE = 0o700


@contextlib.contextmanager
def own(directory):
    """Have a directory, made if it is missing, for one cloud alone.

    The lock goes with the process that holds it, whatever that dies of.
    :raises errors.CannotStart: if another cloud uses the directory, it is
        somebody else's, or it cannot be made or written
    """
    lock = directory / 'lock'
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        if not lock.exists() and any(directory.iterdir()):
            raise errors.CannotStart(
                f'{directory} is no state of a try-out cloud, and not empty; '
                'name a new directory.'
            )
        # Passwords, databases and logs are in it.
        directory.chmod(PRIVATE)
        file = lock.open('w')
    except OSError as exc:
        raise errors.CannotStart(f'{directory}: {exc.strerror}') from exc
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise errors.CannotStart(
                f'Another try-out cloud uses {directory}; end it, or name '
                'another directory.'
            ) from None
        yield
