# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-plan: planner for a problem file, without a cloud.

Exit status: 0 placed, 1 refused, 2 bad input, 3 undecided, 4 internal error.
With --check: 0 the answer holds, 1 it does not, 3 not fully verified.
"""

import argparse
import contextlib
import dataclasses
import functools
import json
import os
import sys
import traceback

from nova_groupext.cmd import progress
from nova_groupext.solver.language import files
from nova_groupext.solver.language import validation
from nova_groupext.solver.model import problem_schemas
from nova_groupext.solver.model import problems
from nova_groupext.solver.solve import child
from nova_groupext.solver.solve import decide
from nova_groupext.solver.solve import summary
from nova_groupext.solver.verify import answer_schema

_STATUSES = {'placed': 0, 'refused': 1, 'undecided': 3}
_BAD_INPUT = 2
_INTERNAL_ERROR = 4
# Exit statuses of shells for SIGINT and SIGPIPE.
_INTERRUPTED = 130
_BROKEN_PIPE = 141

# Maximum number of characters of an error message.
_MAX_MESSAGE_LENGTH = 2_000


def main(argv=None):
    """Print one answer as JSON, or verify one; return the exit status."""
    options = _parse_arguments(argv)
    try:
        return _decide(options) if options.check is None else _check(options)
    except validation.InvalidInput as error:
        # A name in the text can be as long as the file.
        sys.stderr.write(f'{str(error)[:_MAX_MESSAGE_LENGTH]}\n')
        return _BAD_INPUT
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout at exit, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except Exception:
        traceback.print_exc()
        return _INTERNAL_ERROR


def _parse_arguments(argv):
    parser = argparse.ArgumentParser(
        prog='nova-groupext-plan',
        description=(
            'Plan the group of a problem file, or explain why there is no '
            'plan. The answer is printed as one JSON object.'
        ),
        epilog=__doc__.partition('\n\n')[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'problem', help="the problem file, '-' for standard input"
    )
    _add_options(parser)
    options = parser.parse_args(argv)
    if options.check is not None and (options.draw or options.explain):
        parser.error('--check cannot be combined with --draw or --explain')
    return options


def _add_options(parser):
    parser.add_argument(
        '--explain',
        action='store_true',
        help='also explain the answer in words, on standard error',
    )
    parser.add_argument(
        '--draw',
        type=_svg_name,
        metavar='FILE.svg',
        help='write a picture of racks, hosts, load and members',
    )
    parser.add_argument(
        '--check',
        metavar='ANSWER.json',
        help='verify an answer to the problem instead of planning',
    )
    parser.add_argument(
        '--time-limit',
        type=_seconds,
        metavar='SECONDS',
        help='limit of processor time, instead of that of the file',
    )
    parser.add_argument(
        '--seed',
        type=_whole_number,
        metavar='NUMBER',
        help='seed of the solver, instead of that of the file',
    )
    parser.add_argument(
        '--memory-limit',
        type=_whole_number,
        default=child.MEMORY_LIMIT // 1024**2,
        metavar='MIB',
        help='address space of the solver (default: %(default)s)',
    )


def _decide(options):
    # The child process starts while the problem is read.
    with child.Solver('search', options.memory_limit * 1024**2) as solver:
        problem = _read_problem(options)
        if options.draw is not None:
            files.check_writable(options.draw, '--draw')
        members = len(problem.own_members)
        with progress.Line(sys.stderr, members) as line:
            engine = functools.partial(solver.search, on_answer=line.show)
            answer = decide.decide(problem, engine)
    json.dump(answer.to_dict(), sys.stdout, allow_nan=False)
    sys.stdout.write('\n')
    sys.stdout.flush()
    if options.draw is not None:
        # Imported on demand: most runs do not draw.
        from nova_groupext.solver.solve import picture

        with open(options.draw, 'w', encoding='utf-8') as file:
            file.write(picture.write(problem, answer))
    if options.explain:
        sys.stderr.write(summary.write(problem, answer))
    return _STATUSES[answer.status]


def _check(options):
    with child.Solver('check', options.memory_limit * 1024**2) as solver:
        problem = _read_problem(options)
        answer = _read_answer(options.check)
        seconds = problem.max_wait + child.GRACE
        statuses = {0}
        for finding in solver.results(seconds, problem, answer):
            statuses.add(1 if finding['is_error'] else 3)
            sys.stdout.write(f'{finding["where"]}: {finding["text"]}\n')
        if solver.exit_reason:
            statuses.add(3)
            sys.stdout.write(
                f'$: not verified: the solver {solver.exit_reason}\n'
            )
    if statuses == {0}:
        sys.stdout.write('the answer is correct\n')
    sys.stdout.flush()
    return 1 if 1 in statuses else max(statuses)


def _read_answer(name):
    try:
        return answer_schema.parse(files.load(files.read(name, sys.stdin)))
    except validation.InvalidInput as error:
        path = f'--check {error.path}'
        raise validation.InvalidInput(path, error.reason) from None


def _read_problem(options):
    data = files.read(options.problem, sys.stdin)
    problem = problems.parse(files.load(data))
    if options.time_limit is not None:
        problem = dataclasses.replace(problem, time_limit=options.time_limit)
    if options.seed is not None:
        problem = dataclasses.replace(problem, seed=options.seed)
    return problem


def _svg_name(text):
    if not text.lower().endswith('.svg'):
        raise argparse.ArgumentTypeError('must end in .svg: it is an SVG')
    return text


def _seconds(text):
    with contextlib.suppress(ValueError):
        if 0 <= float(text) <= problem_schemas.MAX_TIME_LIMIT:
            return float(text)
    raise argparse.ArgumentTypeError(
        f'must be a number from 0 to {problem_schemas.MAX_TIME_LIMIT:g}'
    )


def _whole_number(text):
    with contextlib.suppress(ValueError):
        if 0 <= int(text) < 2**31:
            return int(text)
    raise argparse.ArgumentTypeError('must be a whole number below 2^31')


if __name__ == '__main__':
    sys.exit(main())
