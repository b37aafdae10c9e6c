# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-plan: decide a problem file, without any cloud.

Exit status: 0 placed, 1 refused, 2 bad input, 3 undecided, 4 internal error.
"""

import argparse
import contextlib
import dataclasses
import functools
import json
import math
import sys
import traceback

from nova_groupext.planner import child
from nova_groupext.planner import decide
from nova_groupext.planner import files
from nova_groupext.planner import invalid
from nova_groupext.planner import problem as problems

_STATUSES = {'placed': 0, 'refused': 1, 'undecided': 3}
_BAD_INPUT = 2
_INTERNAL_ERROR = 4


def main(argv=None):
    """Print one answer in JSON; give the exit status."""
    options = _parse_arguments(argv)
    try:
        answer = _decide(options)
    except invalid.InvalidInput as error:
        sys.stderr.write(f'{error}\n')
        return _BAD_INPUT
    except Exception:
        traceback.print_exc()
        return _INTERNAL_ERROR
    json.dump(answer.to_dict(), sys.stdout, allow_nan=False)
    sys.stdout.write('\n')
    return _STATUSES[answer.status]


def _parse_arguments(argv):
    parser = argparse.ArgumentParser(
        prog='nova-groupext-plan',
        description='Place the group of a problem file, or say why not.',
        epilog=__doc__.splitlines()[-1],
    )
    parser.add_argument(
        'problem', help="the problem file, '-' for standard input"
    )
    parser.add_argument(
        '--time-limit', type=_seconds, help='seconds; goes before the file'
    )
    parser.add_argument(
        '--seed', type=_whole, help='of the solver; goes before the file'
    )
    parser.add_argument(
        '--memory-limit',
        type=_whole,
        default=child.MEMORY_LIMIT // 1024**2,
        metavar='MIB',
        help='address space of the solver (default: %(default)s)',
    )
    return parser.parse_args(argv)


def _decide(options):
    problem = problems.parse(
        files.load(files.read(options.problem, sys.stdin.buffer))
    )
    if options.time_limit is not None:
        problem = dataclasses.replace(problem, time_limit=options.time_limit)
    if options.seed is not None:
        problem = dataclasses.replace(problem, seed=options.seed)
    engine = functools.partial(
        child.run, memory_limit=options.memory_limit * 1024**2
    )
    return decide.decide(problem, engine)


def _seconds(text):
    with contextlib.suppress(ValueError):
        if 0 <= float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError('must be a number of seconds from 0 up')


def _whole(text):
    with contextlib.suppress(ValueError):
        if 0 <= int(text) < 2**31:
            return int(text)
    raise argparse.ArgumentTypeError('must be a whole number below 2^31')


if __name__ == '__main__':
    sys.exit(main())
