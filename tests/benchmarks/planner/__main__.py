# SPDX-License-Identifier: Apache-2.0
"""The planner's benchmark: ``tox -e bench-planner``.

Exit status: 0 all answers are right, 1 some are wrong or broke off.
"""

import argparse
import contextlib
import sys
from typing import NamedTuple

from tests.benchmarks.planner import bench
from tests.benchmarks.planner import groups
from tests.benchmarks.planner import machine
from tests.benchmarks.planner import refused
from tests.benchmarks.planner import runs
from tests.benchmarks.planner import tables

FILLS = (0.5, 0.7, 0.8, 0.9, 0.95)

#: One after another; what a scheduler does well is every seventh.
FAMILIES = (
    *('topology', 'scarce', 'plain', 'bound'),
    *('topology', 'elastic', 'exact'),
)

#: Hosts times members, up to which peers run for each instance, beyond for
#: every fourth.
_PEERS_LIMIT = 500_000


class Plan(NamedTuple):
    """What is done for one size.

    :ivar instances: how many groups that fit
    :ivar refusals: how many that do not, of each kind
    :ivar seconds: time limit of each decision
    """

    instances: int
    refusals: int
    seconds: float


#: By hosts and members; half an hour in all, if every limit is used up, and
#: twice as long with peers.
PLANS = {
    (100, 20): Plan(70, 10, 2),
    (1000, 100): Plan(21, 4, 15),
    (1000, 500): Plan(14, 2, 30),
    (5000, 200): Plan(14, 2, 20),
    (10000, 1000): Plan(7, 2, 60),
}
QUICK = {
    (100, 20): Plan(10, 2, 2),
    (1000, 100): Plan(5, 2, 5),
    (1000, 500): Plan(2, 2, 10),
}
OTHER = Plan(10, 2, 30)


def main(argv=None):
    """Run it and print what was measured; give the exit status."""
    options = _parse_arguments(argv)
    found = bench.Bench(options.seeds, options.cp_sat)
    for path in options.best:
        found.read(path)
    # What was measured until then is worth a table.
    with contextlib.suppress(KeyboardInterrupt):
        for arguments in choose(options):
            found.measure(*arguments)
    if options.json:
        found.write(options.json)
    show = tables.rst if options.rst else tables.text
    made = tables.make(found.runs, found.baselines, found.best)
    shown = [show(table) for table in made if table.rows]
    sys.stdout.write('\n'.join([f'{machine.describe()}.\n', *shown]))
    sys.stdout.writelines(
        f'not solved: {run.instance}: {run.status} after {run.seconds:.0f} s\n'
        for run in found.runs
        if not run.is_good
    )
    failures = [
        f'{run.instance}: {run.wrong or run.reason}\n'
        for run in found.runs
        if run.wrong or run.reason
    ]
    sys.stderr.writelines(failures)
    return int(bool(failures))


def choose(options):
    """Yield runs.Instance, time limit in seconds, and whether peers run."""
    plans = QUICK if options.quick else PLANS
    for size in options.size or plans:
        plan = plans.get(size, OTHER)
        limit = options.time_limit or plan.seconds
        for number in range(_given(options.instances, plan.instances)):
            is_small = size[0] * size[1] <= _PEERS_LIMIT
            has_peers = options.peers and (is_small or not number % 4)
            yield _fitting(size, number, options), limit, has_peers
        for kind in refused.KINDS:
            for number in range(_given(options.refusals, plan.refusals)):
                seed = options.first + number
                yield runs.Instance(*size, kind=kind, seed=seed), limit, False


def _given(value, default):
    return default if value is None else value


def _fitting(size, number, options):
    """The families and the fills go round, each at its own pace."""
    return runs.Instance(
        *size,
        family=options.families[number % len(options.families)],
        fill=FILLS[number % len(FILLS)],
        seed=options.first + number,
    )


def _parse_arguments(argv):
    parser = argparse.ArgumentParser(
        prog='bench-planner', description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add('--quick', action='store_true', help='a few minutes, small sizes')
    add(
        '--size',
        type=_size,
        action='append',
        metavar='HOSTSxMEMBERS',
        help='may be repeated (default: five, up to 10000x1000)',
    )
    add('--instances', type=int, help='groups that fit, per size')
    add('--refusals', type=int, help='groups that do not, per size and kind')
    add(
        '--families',
        type=_families,
        default=FAMILIES,
        help=f'in turn (default: {",".join(FAMILIES)})',
    )
    add('--peers', action='store_true', help='run other ways, too')
    add('--cp-sat', metavar='PYTHON', help='one with OR-Tools, for --peers')
    add('--first', type=int, default=0, help="the first instance's seed")
    add('--seeds', type=int, default=1, help='seeds of the solver, each')
    add('--time-limit', type=float, help='seconds, of each decision')
    add(
        '--best',
        action='append',
        default=[],
        metavar='FILE',
        help='least costs known from an earlier --json; may be repeated',
    )
    add('--json', metavar='FILE', help='write everything to a file')
    add('--rst', action='store_true', help='print tables for the docs')
    return parser.parse_args(argv)


def _size(text):
    hosts, _, members = text.partition('x')
    return int(hosts), int(members)


def _families(text):
    names = text.split(',')
    for name in names:
        if name not in groups.FAMILIES:
            raise argparse.ArgumentTypeError(
                f'{name!r} is none of {", ".join(groups.FAMILIES)}'
            )
    return names


if __name__ == '__main__':
    sys.exit(main())
