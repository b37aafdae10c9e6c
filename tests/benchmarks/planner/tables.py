# SPDX-License-Identifier: Apache-2.0
"""Tables of measured values."""

import math
import statistics
from typing import NamedTuple

from tests.benchmarks.planner import one_by_one


class Table(NamedTuple):
    """Cells of text below a title and headings."""

    title: str
    head: tuple
    rows: list


_PLANNED = (
    *('hosts, members', 'instances', 'solved', 'first plan, s', 'end, s'),
    *('MiB', 'cost / best known', 'bound / cost', 'optimal'),
    *one_by_one.WEIGHTS,
)
_SHARES = ('instances', 'solved', 'members / planted', *one_by_one.WEIGHTS)
_BESIDE = ('hosts, members', 'instances', 'planner')
_REFUSED = (
    *('hosts, members', 'kind', 'instances', 'proved', 'minimal'),
    *('relaxations', 'end, s', 'MiB'),
)


def make(runs, baselines, best):
    """All Tables.

    :param runs: list of runs.Run
    :param baselines: instance -> runs.Baseline
    :param best: instance -> least soft cost that is known
    """
    planned = [run for run in runs if not run.instance.kind]
    refused = [run for run in runs if run.instance.kind]
    compared = [run for run in planned if baselines[run.instance].peers]
    names = [*baselines[compared[0].instance].peers] if compared else []
    return [
        Table(
            'Groups that fit',
            _PLANNED,
            [
                (_size(key), *_planned(part, baselines, best))
                for key, part in _by(planned, 'hosts', 'members')
            ],
        ),
        Table(
            'The same by family and by how full the cloud is',
            ('groups', *_SHARES),
            [
                (name.format(*key), *_shares(part, baselines))
                for field, name in (('family', '{}'), ('fill', '{:.0%} full'))
                for key, part in _by(planned, field)
            ],
        ),
        Table(
            'The first plan beside other ways: solved, processor seconds',
            (*_BESIDE, *names),
            [
                (_size(key), *_beside(part, baselines, names))
                for key, part in _by(compared, 'hosts', 'members')
            ],
        ),
        Table(
            'Groups that do not fit',
            _REFUSED,
            [
                (_size(key), key[2], *_refused(part))
                for key, part in _by(refused, 'hosts', 'members', 'kind')
            ],
        ),
    ]


def text(table):
    """For a terminal."""
    lines = [table.head, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return '\n'.join(
        [
            table.title,
            *(
                '  '.join(map(str.ljust, line, widths)).rstrip()
                for line in lines
            ),
            '',
        ]
    )


def rst(table):
    """For the documentation."""
    lines = [f'.. list-table:: {table.title}', '   :header-rows: 1', '']
    for row in (table.head, *table.rows):
        marks = '*', *' ' * (len(row) - 1)
        lines += [f'   {m} - {c}' for m, c in zip(marks, row, strict=True)]
    return '\n'.join([*lines, ''])


def quantile(values, share):
    """Nearest rank; None counts as endless."""
    ordered = sorted(math.inf if v is None else v for v in values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def ratio(cost, best):
    """How a cost compares; one is added to both, as the best may be 0."""
    return (1 + cost) / (1 + best)


def _by(runs, *fields):
    """Pairs of key and runs, in the order of the keys."""
    found = {}
    for run in runs:
        key = tuple(getattr(run.instance, field) for field in fields)
        found.setdefault(key, []).append(run)
    return sorted(found.items())


def _planned(runs, baselines, best):
    count, solved, _members, *shares = _shares(runs, baselines)
    # Costs of different numbers of members say nothing.
    ratios = [
        ratio(run.cost, best[run.instance])
        for run in runs
        if run.is_good and run.members == baselines[run.instance].members
    ]
    bounds = [run.bound / run.cost for run in runs if run.is_good and run.cost]
    return (
        count,
        solved,
        _three([run.first_seconds for run in runs]),
        _three([run.seconds for run in runs]),
        _max_memory(runs),
        f'{statistics.median(ratios):.2f} / {max(ratios):.2f}'
        if ratios
        else '-',
        f'{statistics.median(bounds):.2f}' if bounds else '-',
        _share([run.is_good and run.bound >= run.cost for run in runs]),
        *shares,
    )


def _shares(runs, baselines):
    by_weights = [baselines[run.instance].one_by_one for run in runs]
    members = [
        run.members / baselines[run.instance].members
        for run in runs
        if run.is_good
    ]
    return (
        str(len(runs)),
        _share([run.is_good for run in runs]),
        f'{min(members):.2f} to {max(members):.2f}' if members else '-',
        *(
            _share([solved[name] for solved in by_weights])
            for name in one_by_one.WEIGHTS
        ),
    )


def _beside(runs, baselines, names):
    """Return what the planner and each peer have solved, and how fast."""
    seconds = [
        [run.first_seconds if run.is_good else None for run in runs],
        *(
            [baselines[run.instance].peers[name] for run in runs]
            for name in names
        ),
    ]
    return str(len(runs)), *(
        f'{_share([each is not None for each in found])}, {_three(found)}'
        for found in seconds
    )


def _refused(runs):
    good = [run for run in runs if run.is_good]
    return (
        str(len(runs)),
        _share([run.is_good for run in runs]),
        _share([run.minimal for run in good]),
        _share([run.relaxations > 0 for run in good]),
        _three([run.seconds if run.is_good else None for run in runs]),
        _max_memory(runs),
    )


def _size(key):
    return f'{key[0]}, {key[1]}'


def _share(values):
    return f'{sum(values) / len(values):.0%}' if values else '-'


def _three(seconds):
    return ' / '.join(_seconds(quantile(seconds, q)) for q in (0.5, 0.95, 1))


def _seconds(value):
    if value == math.inf:
        return '-'
    return f'{value:.3f}' if value < 1 else f'{value:.1f}'


def _max_memory(runs):
    return f'{max(run.peak_mib for run in runs):.0f}'
