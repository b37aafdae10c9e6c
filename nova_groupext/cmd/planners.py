# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-manage planners: list of planners and their health.

Exit status: 0 all are healthy, 1 an error, 3 none runs or one is unhealthy.
"""

import sys

from nova import context as nova_context
from oslo_serialization import jsonutils
import prettytable

from nova_groupext.conf import CONF
from nova_groupext.scheduler import planner_health

HEALTHY, UNHEALTHY = 0, 3

COLUMNS = ('host', 'pid', 'heard', 'clock', 'groups')


def add_verbs(nouns):
    """Add ``planners`` to the parser."""
    parser = nouns.add_parser('planners', help='list the running planners')
    parser.set_defaults(needs_nova=True, run=_list)
    parser.add_argument(
        '--json', action='store_true', help='print JSON instead of a table'
    )


def _list(args):
    health = planner_health.read(nova_context.get_admin_context(), CONF.vrt)
    if args.json:
        sys.stdout.write(f'{jsonutils.dumps(health)}\n')
    else:
        text = _table(health) if health else planner_health.NO_PLANNER
        sys.stdout.write(f'{text}\n')
    are_healthy = health and not any(each['wrong'] for each in health)
    return HEALTHY if are_healthy else UNHEALTHY


def _table(health):
    table = prettytable.PrettyTable([*COLUMNS, 'wrong'], align='l')
    for each in health:
        cells = [each[column] for column in COLUMNS]
        table.add_row([*cells, '; '.join(each['wrong'])])
    return table
