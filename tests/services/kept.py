# SPDX-License-Identifier: Apache-2.0
"""Things that are slow to make: a process makes each once, and keeps it."""

import atexit
import contextlib
import tempfile
from unittest import mock

_KEPT = contextlib.ExitStack()
atexit.register(_KEPT.close)


def keep(fixture):
    """Set a fixture up until this process ends; returns the fixture."""
    # A test has a directory for its temporary files, which ends with it.
    with mock.patch.object(tempfile, 'tempdir', None):
        return _KEPT.enter_context(fixture)
