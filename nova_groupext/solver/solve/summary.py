# SPDX-License-Identifier: Apache-2.0
"""Answer in words, for operators of the cloud."""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping

from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.language import validation
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import problems

# Limit on listed names.
_MAX_NAMES = 8


def write(problem: problems.Problem, answer: answers.Answer) -> str:
    """Return an answer in words, several lines."""
    lines = _WRITERS[answer.status](problem, answer)
    return '\n'.join([*map(_plain, lines), _statistics(answer), ''])


def _plain(line: str) -> str:
    """Escape unprintable characters: names must not control the terminal."""
    return ''.join(
        each if each.isprintable() else validation.quote(each)[1:-1]
        for each in line
    )


def _placed(
    problem: problems.Problem, answer: answers.Answer
) -> Iterator[str]:
    members = len(problem.own_members)
    yield f'placed: {len(answer.placement)} of {members} members'
    if answer.unplaced:
        yield f'left out: {_list(answer.unplaced)}'
    if answer.cost is not None:
        yield from _costs(answer.cost, answer.violations)
    yield 'locations (number of domains of each level, and members in each):'
    for node in problem.topology.nodes:
        yield f'  {_node_name(node)}: {_where(problem, answer, node)}'


def _costs(
    cost: answer_parts.Cost, violations: Iterable[answer_parts.PolicyCost]
) -> Iterator[str]:
    is_least = cost['bound'] >= cost['soft']
    proved = 'proved minimal' if is_least else f'lower bound {cost["bound"]:g}'
    yield f'cost of the soft policies: {cost["soft"]:g} ({proved})'
    for each in violations:
        policy = f'{each["policy"]["scope"]} {each["policy"]["type"]}'
        yield f'  {policy} of {_node_name(each["at"])}: {each["cost"]:g}'
    yield f'sum of the scores: {cost["preference"]:g}'


def _where(
    problem: problems.Problem, answer: answers.Answer, node: Path
) -> str:
    """Return how many domains of each level a node's members use."""
    prefix = f'{node}/' if node else ''
    hosts = [
        host_id
        for path, host_id in answer.placement.items()
        if path.startswith(prefix)
    ]
    parts = [f'{len(hosts)} members', f'host {len(set(hosts))}']
    for level in problem.levels[1:]:
        count = collections.Counter(
            problem.domain(host_id, level) for host_id in hosts
        )
        domains = len(count.keys() - {None})
        parts.append(f'{level} {domains} ({_counts(count)})')
    return ', '.join(parts)


def _counts(count: Mapping[Domain | None, int]) -> str:
    """Return domains and the members in each, the fullest first."""
    by_size = sorted(count.items(), key=lambda c: (-c[1], c[0] or ''))
    return _list(
        f'{domain or "none"}: {members}' for domain, members in by_size
    )


def _refused(
    problem: problems.Problem, answer: answers.Answer
) -> Iterator[str]:
    text = answer.reason['text'] if answer.reason else 'there is no plan.'
    yield f'refused: {text}'
    rest = '' if answer.minimal else ' (possibly not all of them are needed)'
    yield f'These requirements conflict{rest}:'
    for item in answer.conflict:
        yield f'  {item["text"]} [{item["code"]}]'
    if answer.relaxations:
        yield 'Changes that would help:'
    for relaxation in answer.relaxations:
        yield f'  {relaxation["text"]}'


def _undecided(
    problem: problems.Problem, answer: answers.Answer
) -> Iterator[str]:
    yield (
        'undecided: neither a plan nor a proof that none exists was found '
        f'within {problem.time_limit:g} s'
    )


_WRITERS: dict[
    answer_parts.Status,
    Callable[[problems.Problem, answers.Answer], Iterator[str]],
] = {
    'placed': _placed,
    'refused': _refused,
    'undecided': _undecided,
}


def _statistics(answer: answers.Answer) -> str:
    """Return a line with time, stage and reason of an early end."""
    stats = answer.stats
    parts = [f'{stats["seconds"]:g} s', f'stage {stats["stage"]}']
    if stats['cut_short']:
        parts.append(stats.get('reason', 'time limit reached'))
    return f'({", ".join(parts)})'


def _node_name(path: Path) -> str:
    return path or 'the group'


def _list(names: Iterable[str]) -> str:
    names = list(names)
    if len(names) > _MAX_NAMES:
        more = len(names) - _MAX_NAMES
        names = [*names[:_MAX_NAMES], f'{more} more']
    return ', '.join(names)
