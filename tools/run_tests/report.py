# SPDX-License-Identifier: Apache-2.0
"""Text output of a test run."""

from collections.abc import Sequence

from results import Outcome

RULE = 70


def part(outcome: Outcome) -> str:
    """Return the line of a part: its times and numbers of tests."""
    return (
        f'{outcome.part:14} {outcome.seconds:6.0f} s'
        f' {outcome.processor_seconds:7.0f} s of processors'
        f'  {_counts([outcome])}' + (', not run' * bool(outcome.trouble))
    )


def failures(outcomes: Sequence[Outcome]) -> str:
    """Return the failed tests and parts, each with its details."""
    titled_texts = [
        (test, text)
        for outcome in outcomes
        for test, text in outcome.failures.items()
    ]
    titled_texts += [
        (f'{outcome.part}: not run as a whole', outcome.trouble)
        for outcome in outcomes
        if outcome.trouble
    ]
    return '\n'.join(
        f'\n{"=" * RULE}\n{title}\n{"-" * RULE}\n{text}'
        for title, text in titled_texts
    )


def end(outcomes: Sequence[Outcome]) -> str:
    """Return the line of each part, the failed tests, and the verdict."""
    names = [test for outcome in outcomes for test in outcome.failures]
    run = [each for each in outcomes if each.tests or each.has_failed]
    lines = ['', *(part(outcome) for outcome in run), '']
    if names:
        lines += [*(f'FAILED {name}' for name in names), '']
    has_failed = any(outcome.has_failed for outcome in outcomes)
    verdict = 'failed' if has_failed else 'passed'
    return '\n'.join([*lines, f'{verdict}: {_counts(outcomes)}'])


def _counts(outcomes: Sequence[Outcome]) -> str:
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(len(outcome.failures) for outcome in outcomes)
    skipped = sum(outcome.skipped for outcome in outcomes)
    return f'{passed} passed, {failed} failed, {skipped} skipped'
