# SPDX-License-Identifier: Apache-2.0
"""SQL statements and Placement requests of a block of code."""

import collections
import contextlib
import dataclasses
import pathlib
import re
import time

from keystoneauth1 import session
import sqlalchemy as sa

# Checks of pooled connections, and what transactions begin with.
_IGNORED = re.compile(r'SELECT 1$|BEGIN|COMMIT|ROLLBACK', re.IGNORECASE)
_OURS = re.compile(r'\bvrt_')
_UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')

_STATUS = pathlib.Path('/proc/self/status')


@dataclasses.dataclass
class Counts:
    """Statements, requests and time of a block of code.

    :ivar ours: Counter of the statements on tables of ours
    :ivar nova: Counter of the other statements
    :ivar requests: Counter of "METHOD path" of Placement requests, without
        the uuids and the queries
    :ivar seconds: wall time
    :ivar posting: seconds of it in POST requests
    :ivar memory: MiB by which the process had grown at its peak
    """

    ours: collections.Counter = dataclasses.field(
        default_factory=collections.Counter
    )
    nova: collections.Counter = dataclasses.field(
        default_factory=collections.Counter
    )
    requests: collections.Counter = dataclasses.field(
        default_factory=collections.Counter
    )
    seconds: float = 0.0
    posting: float = 0.0
    memory: float = 0.0

    @property
    def http(self):
        """Number of Placement requests."""
        return self.requests.total()


@contextlib.contextmanager
def counting():
    """Count what a ``with`` block needs; gives the Counts."""
    counts = Counts()

    def note(_connection, _cursor, statement, _parameters, _context, many):
        if not _IGNORED.match(statement):
            counter = counts.ours if _OURS.search(statement) else counts.nova
            counter[statement] += 1

    original = session.Session.request

    def request(self, url, method, *args, **kwargs):
        path = _UUID.sub('<uuid>', url.partition('?')[0])
        counts.requests[f'{method} {path}'] += 1
        sent = time.monotonic()
        try:
            return original(self, url, method, *args, **kwargs)
        finally:
            if method == 'POST':
                counts.posting += time.monotonic() - sent

    sa.event.listen(sa.Engine, 'before_cursor_execute', note)
    session.Session.request = request
    _STATUS.with_name('clear_refs').write_text('5')
    memory = _read_mib('VmRSS')
    began = time.monotonic()
    try:
        yield counts
    finally:
        counts.seconds = time.monotonic() - began
        counts.memory = _read_mib('VmHWM') - memory
        session.Session.request = original
        sa.event.remove(sa.Engine, 'before_cursor_execute', note)


def _read_mib(name):
    """Return a memory size of this process; writing 5 resets the peak."""
    [kib] = re.findall(rf'^{name}:\s+(\d+) kB$', _STATUS.read_text(), re.M)
    return int(kib) / 1024
