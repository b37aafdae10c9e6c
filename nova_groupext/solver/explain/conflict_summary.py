# SPDX-License-Identifier: Apache-2.0
"""Items of a refusal's conflict, few enough to be read.

In a large conflict, one item names all member sets of a subgroup, and another
one all its policies of one type and scope. Such items are still a conflict,
but no longer a minimal one.
"""

from collections.abc import Collection
from typing import TypeAlias

from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.explain import sentences
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.assumptions import Assumption
from nova_groupext.solver.model.assumptions import PolicyAssumption

# Limit on items, unless a node has policies of more types and scopes.
_MAX_ITEMS = 10

# Assumptions that one item may name: node; type and scope of policies.
_Subtree: TypeAlias = tuple[Path, tuple[str, Level] | None]


def of(
    problem: problems.Problem, assumed: Collection[Assumption]
) -> tuple[list[answer_parts.ConflictItem], bool]:
    """Return the items of a conflict, and whether each is one assumption."""
    if len(assumed) <= _MAX_ITEMS:
        return [_single(problem, each) for each in assumed], True
    subtrees = _merge(problem, assumed)
    items = [
        _single(problem, same[0])
        if len(same) == 1
        else _of_subtree(problem, subtree)
        for subtree, same in subtrees.items()
    ]
    return items, len(items) == len(assumed)


def _single(
    problem: problems.Problem, assumption: Assumption
) -> answer_parts.ConflictItem:
    """Return an assumption as an item."""
    if isinstance(assumption, PolicyAssumption):
        return {
            'kind': 'policy',
            'at': assumption.at,
            'policy': {'type': assumption.type, 'scope': assumption.scope},
            'code': violations.code(assumption.type),
            'text': sentences.phrase(problem, assumption),
        }
    member_set = sentences.member_set(problem, assumption)
    return {
        'kind': 'members',
        'at': member_set.node,
        'members': member_set.name,
        'code': 'vrt.members',
        'text': sentences.phrase(problem, assumption),
    }


def _of_subtree(
    problem: problems.Problem, subtree: _Subtree
) -> answer_parts.ConflictItem:
    """Return all assumptions of one kind in a subtree as an item."""
    at, policy = subtree
    if policy is None:
        return {
            'kind': 'members',
            'at': at,
            'subtree': True,
            'code': 'vrt.members',
            'text': sentences.members_in(problem, at),
        }
    kind, scope = policy
    return {
        'kind': 'policy',
        'at': at,
        'policy': {'type': kind, 'scope': scope},
        'subtree': True,
        'code': violations.code(kind),
        'text': sentences.policies_in(problem, at, kind, scope),
    }


def _merge(
    problem: problems.Problem, assumed: Collection[Assumption]
) -> dict[_Subtree, list[Assumption]]:
    """Return the assumptions by subtree: few subtrees, as small as can be."""
    nodes = [(each, _node(problem, each)) for each in assumed]
    merged: dict[_Subtree, list[Assumption]] = {}
    for depth in range(max(map(_depth, dict(nodes).values())), -1, -1):
        merged = {}
        for each, node in nodes:
            at = '/'.join(node.split('/')[:depth])
            merged.setdefault((at, _kind(each)), []).append(each)
        if len(merged) <= _MAX_ITEMS:
            break
    return merged


def _depth(node: Path) -> int:
    return len(node.split('/')) if node else 0


def _node(problem: problems.Problem, assumption: Assumption) -> Path:
    if isinstance(assumption, PolicyAssumption):
        return assumption.at
    return sentences.member_set(problem, assumption).node


def _kind(assumption: Assumption) -> tuple[str, Level] | None:
    if isinstance(assumption, PolicyAssumption):
        return assumption.type, assumption.scope
    return None
