# SPDX-License-Identifier: Apache-2.0
"""Command of the stress test: ``python -m tests.stress --help``."""

import argparse
import sys
import time

from tests.stress import runner


def main(argv=None):
    parser = argparse.ArgumentParser(prog='stress', description=__doc__)
    parser.add_argument('--operations', type=int, default=10_000)
    parser.add_argument('--kills', type=int, default=100)
    parser.add_argument('--hosts', type=int, default=20)
    parser.add_argument(
        '--seed', type=int, default=int(time.time()), help='default: the time'
    )
    parser.add_argument(
        '--unsafe',
        action='store_true',
        help="with Placement's default settings, which overcommit",
    )
    args = parser.parse_args(argv)
    print(f'seed {args.seed}')  # noqa: T201
    outcome = runner.run(
        args.hosts,
        args.seed,
        args.operations,
        args.kills,
        '' if args.unsafe else runner.ONE_ATTEMPT,
    )
    for (name, result), count in sorted(outcome.operations.items()):
        print(f'{name:15} {result:25} {count:6}')  # noqa: T201
    for each in [*outcome.violations, *outcome.leaks]:
        print(each)  # noqa: T201
    print(summary(outcome))  # noqa: T201
    return 1 if outcome.violations or outcome.leaks else 0


def summary(outcome):
    return (
        f'{outcome.seconds:.0f} seconds: '
        f'operations {outcome.total()}, kills {outcome.kills}, '
        f'violations {len(outcome.violations)}, leaks {len(outcome.leaks)}'
    )


if __name__ == '__main__':
    sys.exit(main())
