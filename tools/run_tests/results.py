# SPDX-License-Identifier: Apache-2.0
"""The results of one part's run, read from the stream that stestr writes."""

from collections.abc import Callable
import dataclasses

import subunit
import testtools

# Lines kept of what a failed test has logged; its traceback is kept whole.
LAST_LINES = 20


@dataclasses.dataclass
class Outcome:
    """Results of one part.

    ``failures`` maps the id of each failed test to its traceback and the end
    of its logs. ``seconds`` is the time on the wall, ``processor_seconds``
    what all processes of the part used together. ``trouble`` is what stestr
    said where the part could not be run as a whole.
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
    """Count a subunit stream's tests in an outcome, until the stream ends.

    :param notify: called for each test as it ends, with the outcome so far
        and the test's id if it has failed
    :returns: what the stream contains beside subunit
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
    """Everything that belongs to no test."""

    def __init__(self):
        super().__init__()
        self.content = b''

    def status(self, test_id=None, file_bytes=None, **_others):
        if test_id is None and file_bytes:
            self.content += file_bytes


def _describe(test: dict) -> str:
    """Return a failed test's details, the traceback last."""
    details = test['details']
    titles = sorted(details, key=lambda title: title.startswith('traceback'))
    lines = [f'status: {test["status"]}']
    for title in titles:
        text = details[title].as_text().splitlines()
        kept = text if title.startswith('traceback') else text[-LAST_LINES:]
        lines += [f'{title}:', *kept]
    return '\n'.join(lines)
