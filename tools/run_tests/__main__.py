# SPDX-License-Identifier: Apache-2.0
"""Run parts of the tests, then print their times and every failure.

Every part runs, even after the failure of another. The exit status is 0 if
every test passed or was skipped.
"""

import argparse
import sys

import parts
import report
import running
import selection

sys.path.insert(0, str(running.TOP))

from tests.services import servers


def main() -> int:
    """Run the selected parts and return the exit status."""
    options, arguments = _parser().parse_known_args()
    missing = servers.missing()
    _say(*(f'{server.name}: {server.hint}' for server in missing))
    if missing and servers.are_required():
        _say('failed: VRT_REQUIRE_SERVICES=1 asks for every service')
        return 1
    outcomes = []
    for name in options.parts or _names_of_parts(arguments):
        _say(f'{name} ...')
        outcomes.append(
            running.run(
                parts.PARTS[name], _variables(options), arguments, _say
            )
        )
        _say(report.part(outcomes[-1]))
    if not any(outcome.tests or outcome.trouble for outcome in outcomes):
        _say(f'failed: no test matches {" ".join(arguments)}')
        return 1
    _say(report.failures(outcomes), report.end(outcomes))
    return int(any(outcome.has_failed for outcome in outcomes))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='run_tests',
        description=__doc__,
        epilog='Everything else goes to `stestr run`: most often a part of '
        "the wanted tests' names.",
    )
    parser.add_argument(
        '--parts',
        type=_parts,
        help=f'parts to run, separated by commas: {", ".join(parts.PARTS)}; '
        f'by default {", ".join(parts.STANDARD)}, and where tests are '
        'selected by their names all but sweeps',
    )
    parser.add_argument(
        '--share',
        type=int,
        metavar='N',
        help='run one in N of the tests of later and long, and of the cases '
        'of sweeps',
    )
    parser.add_argument(
        '--draw',
        default='',
        metavar='TEXT',
        help='anything; the same text draws the same share again',
    )
    return parser


def _names_of_parts(arguments: list[str]) -> list[str]:
    """Return the parts to run: the standard ones, or those of given tests."""
    if not arguments:
        return list(parts.STANDARD)
    chosen = [
        name
        for name in parts.NAMED
        if selection.may_contain(running.TOP, parts.PARTS[name], arguments)
    ]
    # Some classes get their names when they are imported.
    return chosen or list(parts.NAMED)


def _parts(text: str) -> list[str]:
    names = text.split(',')
    for name in names:
        if name not in parts.PARTS:
            raise argparse.ArgumentTypeError(f'there is no part {name!r}')
    return names


def _variables(options: argparse.Namespace) -> dict[str, str]:
    """Return the environment variables that tests/shares.py reads."""
    share = {'VRT_SHARE': str(options.share)} if options.share else {}
    return {**share, 'VRT_DRAW': options.draw}


def _say(*lines: str) -> None:
    sys.stdout.writelines(f'{line}\n' for line in lines)
    sys.stdout.flush()


if __name__ == '__main__':
    sys.exit(main())
