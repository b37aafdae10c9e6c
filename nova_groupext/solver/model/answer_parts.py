# SPDX-License-Identifier: Apache-2.0
"""Parts of an answer, with the keys of the answer file."""

from typing import Literal
from typing import NotRequired
from typing import TypeAlias
from typing import TypedDict
from typing import final

from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path

Status: TypeAlias = Literal['placed', 'refused', 'undecided']


class Cost(TypedDict):
    """Soft cost of a plan, its proven lower bound, and the preference.

    - changes: number of members that are not on their current host, if the
      problem has any
    """

    soft: float
    bound: float
    preference: float
    changes: NotRequired[int]


class PolicyId(TypedDict):
    """Type and scope, which identify the policies at a path."""

    type: str
    scope: Level


class PolicyCost(TypedDict):
    """Cost of a soft policy that a plan violates."""

    at: Path
    policy: PolicyId
    cost: float


class PolicyConflict(TypedDict):
    """Strict policies in a conflict.

    - subtree: True for all of them at and below ``at``
    """

    kind: Literal['policy']
    at: Path
    policy: PolicyId
    subtree: NotRequired[bool]
    code: str
    text: NotRequired[str]


class MembersConflict(TypedDict):
    """Required members in a conflict: a member set of the node ``at``.

    - members: name of the set
    - subtree: True, instead of a name, for all member sets at and below ``at``
    """

    kind: Literal['members']
    at: Path
    members: NotRequired[str]
    subtree: NotRequired[bool]
    code: str
    text: NotRequired[str]


ConflictItem: TypeAlias = PolicyConflict | MembersConflict


class Reason(TypedDict):
    """Reason for a refusal: a stable code, and a sentence for the owner."""

    code: str
    text: str


@final
class PolicyChange(TypedDict):
    """Strict policies that become soft."""

    at: Path
    policy: str
    scope: Level
    strict: Literal[False]


@final
class MembersChange(TypedDict):
    """Lower minimum of a member set of the node ``at``."""

    at: Path
    members: str
    min_count: int


# A keyword cannot be the name of an attribute.
_Class = TypedDict('_Class', {'class': NotRequired[str]})


@final
class JointMinimum(_Class):
    """Lower minimums of several member sets, of a class or different ones."""

    min_counts: dict[Path, int]


SingleChange: TypeAlias = PolicyChange | MembersChange | JointMinimum


@final
class JointChange(TypedDict):
    """Changes that help together."""

    together: list[SingleChange]


# mypy narrows a union by a key only if no part of it is an alias of a union.
Change: TypeAlias = PolicyChange | MembersChange | JointMinimum | JointChange


class RelaxationEntry(TypedDict):
    """Change after which the problem has a plan, and a text about it."""

    change: Change
    text: str


class Stats(TypedDict, total=False):
    """Statistics of the search for an answer.

    - stage: stage of the solver that found it
    - cut_short: whether more time might improve it
    - members_bound: number of members beyond which no plan places any, where
      some may be left out
    - first_seconds: seconds until the first answer
    - seconds: seconds until this one
    - peak_mib: peak memory of the solver's process
    - reason: why the solver's process failed
    """

    stage: str
    cut_short: bool
    members_bound: int
    first_seconds: float
    seconds: float
    peak_mib: int
    reason: str
