# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-manage holds: audit of our tables against Placement.

Exit status: 0 no findings (or none left), 1 an error or an incomplete audit,
3 findings (or some left).
"""

import dataclasses
import sys

from nova import context as nova_context
from nova import objects
from oslo_serialization import jsonutils
import prettytable

from nova_groupext import nova_releases
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.audit import heal
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.reap import statistics

CLEAN, INCOMPLETE, FINDINGS = 0, 1, 3

COLUMNS = ('kind', 'group', 'member', 'consumer', 'provider', 'text')


def add_verbs(nouns):
    """Add ``holds`` and its subcommands to the parser."""
    holds = nouns.add_parser('holds', help='audit and repair holds')
    holds.set_defaults(needs_nova=True)
    verbs = holds.add_subparsers(required=True)
    audits = verbs.add_parser(
        'audit', help='find differences between our tables, Placement and Nova'
    )
    audits.set_defaults(run=_audit)
    heals = verbs.add_parser(
        'heal', help='repair differences where that is safe'
    )
    heals.add_argument(
        '--dry-run',
        action='store_true',
        help='print the repairs without making them',
    )
    heals.add_argument(
        '--orphans',
        action='store_true',
        help='also release holds that are not in our tables; only if no '
        'other installation uses the same Placement',
    )
    heals.set_defaults(run=_heal)
    stats = verbs.add_parser('stats', help='count groups, members and holds')
    stats.set_defaults(run=_stats)
    for verb in (audits, heals, stats):
        verb.add_argument(
            '--json', action='store_true', help='print JSON instead of tables'
        )


def _audit(args):
    findings = audit.audit(*_clients())
    _print(args, findings=findings)
    return _status(findings)


def _heal(args):
    context, placement = _clients()
    findings = audit.audit(context, placement)
    if args.dry_run:
        _print(args, with_remedy=True, findings=findings)
        return _status(findings)
    heal.heal(context, placement, findings, orphans=args.orphans)
    remaining = audit.audit(context, placement)
    healed = [finding for finding in findings if finding not in remaining]
    _print(args, healed=healed, findings=remaining)
    return _status(remaining)


def _stats(args):
    counts = statistics.statistics(nova_context.get_admin_context())
    if args.json:
        text = jsonutils.dumps(counts)
    else:
        text = statistics.line(counts).replace(' ', '\n')
    sys.stdout.write(f'{text}\n')
    return CLEAN


def _clients():
    objects.register_all()
    context = nova_context.get_admin_context()
    return context, client.PlacementClient(nova_releases.report_client())


def _status(findings):
    kinds = {finding.kind for finding in findings}
    if kinds - {audit.Kind.UNKNOWN}:
        return FINDINGS
    return INCOMPLETE if kinds else CLEAN


def _print(args, with_remedy=False, **lists):
    """Print named lists of findings, as tables or JSON."""
    rows = {
        name: [_row(finding, with_remedy) for finding in findings]
        for name, findings in lists.items()
    }
    if args.json:
        sys.stdout.write(f'{jsonutils.dumps(rows)}\n')
        return
    columns = [*COLUMNS, 'remedy'] if with_remedy else COLUMNS
    for name, rows_of_list in rows.items():
        table = prettytable.PrettyTable(columns, align='l')
        table.add_rows(
            [[row[c] or '' for c in columns] for row in rows_of_list]
        )
        sys.stdout.write(f'{name}: {len(rows_of_list)}\n')
        sys.stdout.write(f'{table}\n' if rows_of_list else '')


def _row(finding, with_remedy):
    remedy = heal.REMEDIES[finding.kind]
    return dataclasses.asdict(finding) | (
        {'remedy': remedy} if with_remedy else {}
    )
