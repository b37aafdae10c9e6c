# SPDX-License-Identifier: Apache-2.0
"""Fixtures that are slow to set up, kept until their process ends."""

import atexit
import contextlib
import tempfile
from unittest import mock

_STACK = contextlib.ExitStack()
atexit.register(_STACK.close)


def set_up(fixture):
    """Set a fixture up until this process ends; returns the fixture."""
    # A test has a directory for its temporary files, which ends with it.
    with mock.patch.object(tempfile, 'tempdir', None):
        return _STACK.enter_context(fixture)
