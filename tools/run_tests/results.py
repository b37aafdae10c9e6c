# SPDX-License-Identifier: Apache-2.0
"""Results of one part, read from the subunit stream of stestr."""

from collections.abc import Callable
import dataclasses

import subunit
import testtools

# Lines kept of each log of a failed test; its tracebacks are kept whole.
LAST_LINES = 20


@dataclasses.dataclass
class Outcome:
    """Results of one part.

    :ivar failures: {id of a failed test: end of its logs, and traceback}
    :ivar seconds: wall-clock time
    :ivar processor_seconds: CPU time of all processes of the part
    :ivar trouble: output of stestr if it failed as a whole, or ''
    """

    part: str
    passed: int = 0
    skipped: int = 0
    failures: dict[str, str] = dataclasses.field(default_factory=dict)
    seconds: float = 0
    processor_seconds: float = 0
    trouble: str = ''

    @property
    def tests(self) -> int:
        """Number of tests that were run or skipped."""
        return self.passed + self.skipped + len(self.failures)

    @property
    def has_failed(self) -> bool:
        return bool(self.failures or self.trouble)


def read(
    stream, outcome: Outcome, notify: Callable[[Outcome, str | None], None]
) -> str:
    """Add the tests of a subunit stream to an outcome, until it ends.

    :param notify: function called after each test with the outcome so far
        and, if the test has failed, its id, else None
    :returns: text of the stream that is not subunit
    """

    def count(test: dict) -> None:
        failed = None
        if test['status'] in ('success', 'xfail'):
            outcome.passed += 1
        elif test['status'] == 'skip':
            outcome.skipped += 1
        elif test['status'] != 'exists':
            failed = test['id']
            outcome.failures[failed] = _describe(test)
        notify(outcome, failed)

    output = _Output()
    result = testtools.CopyStreamResult(
        [testtools.StreamToDict(count), output]
    )
    result.startTestRun()
    subunit.ByteStreamToStreamResult(stream, non_subunit_name='output').run(
        result
    )
    result.stopTestRun()
    return output.content.decode(errors='replace')


class _Output(testtools.StreamResult):
    """Collector of output that belongs to no test."""

    def __init__(self):
        super().__init__()
        self.content = b''

    def status(self, test_id=None, file_bytes=None, **_others):
        if test_id is None and file_bytes:
            self.content += file_bytes


def _describe(test: dict) -> str:
    """Return the details of a failed test, its traceback last."""
    details = test['details']
    titles = sorted(details, key=lambda title: title.startswith('traceback'))
    lines = [f'status: {test["status"]}']
    for title in titles:
        text = details[title].as_text().splitlines()
        kept = text if title.startswith('traceback') else text[-LAST_LINES:]
        lines += [f'{title}:', *kept]
    return '\n'.join(lines)
