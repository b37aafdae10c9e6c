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

FINE, WRONG = 0, 3

COLUMNS = ('host', 'pid', 'heard', 'clock', 'groups')

NONE = 'No planner runs; groups that are described wait.'


def add_verbs(nouns):
    """Add ``planners`` to the parser."""
    parser = nouns.add_parser('planners', help='list the planners that run')
    parser.set_defaults(needs_nova=True, run=_list)
    parser.add_argument(
        '--json', action='store_true', help='print JSON, no table'
    )


def _list(args):
    found = planner_health.read(nova_context.get_admin_context(), CONF.vrt)
    if args.json:
        sys.stdout.write(f'{jsonutils.dumps(found)}\n')
    else:
        sys.stdout.write(f'{_table(found) if found else NONE}\n')
    is_fine = found and not any(each['wrong'] for each in found)
    return FINE if is_fine else WRONG


def _table(found):
    table = prettytable.PrettyTable([*COLUMNS, 'wrong'], align='l')
    for each in found:
        told = [each[column] for column in COLUMNS]
        table.add_row([*told, '; '.join(each['wrong'])])
    return table
