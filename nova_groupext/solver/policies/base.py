# SPDX-License-Identifier: Apache-2.0
"""Base class of the policy types.

A type is a subclass: its name, its noun and its meaning are enough. All else
is optional. A fact that a type does not declare is not used, which is slower
and right. The stages of the solver hand in their tools, so that a type
imports none of them.
"""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import fractions
import functools
import itertools
from typing import TYPE_CHECKING
from typing import Any
from typing import ClassVar
from typing import Final
from typing import Literal
from typing import Self
from typing import TypeAlias
from typing import dataclass_transform

from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.aliases import Schema
from nova_groupext.solver.aliases import Sides
from nova_groupext.solver.policies import tools

if TYPE_CHECKING:
    # The API loads this module, and needs no numpy.
    import numpy as np
    import numpy.typing as npt

    # That module imports this one.
    from nova_groupext.solver.policies.view import View

#: JSON schema of a number of members or domains.
COUNT: Schema = {'type': 'integer', 'minimum': 1, 'maximum': 1_000_000}
#: The same, or 0.
COUNT_OR_NONE: Schema = {**COUNT, 'minimum': 0}
#: JSON schema of a bandwidth.
BANDWIDTH: Schema = {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 1e9}

#: Values of `sees`: numbers of members by domain of the scope; which members
#: share domains of any level; the hosts and domains themselves.
COUNTS: Final = 'counts'
DOMAINS: Final = 'domains'
HOSTS: Final = 'hosts'

#: Upper bounds on the covered members of each domain.
Limits: TypeAlias = 'npt.NDArray[np.int64]'


def parameter(schema: Schema, **default: Any) -> Any:
    """Return the field of a parameter, a hashable value.

    :param default: its ``default``; a parameter without one is required
    """
    return dataclasses.field(metadata={'schema': schema}, **default)


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(parameter,)
)
@dataclasses.dataclass(frozen=True, kw_only=True)
class Policy:
    """Policy over members; each subclass is one policy type.

    :cvar type: name of the type, which is the name of its entry point, too
    :cvar noun: noun for sentences, ``survival``
    :ivar at: path of its node, member set or relationship
    :ivar scope: level of its domains
    :ivar sides: members it covers: one set, or, for a pairwise policy on a
        relationship, the parts whose pairs it constrains
    :ivar where: JSON path of its description
    """

    type: ClassVar[str]
    noun: ClassVar[str]

    # -- facts, about the violation of a placement -------------------------

    #: Further members never reduce it.
    is_monotone: ClassVar[bool] = False
    #: Members of one side are interchangeable.
    is_symmetric: ClassVar[bool] = False
    #: It is a sum over pairs of members, on a relationship of different parts.
    is_pairwise: ClassVar[bool] = False
    #: Members that the policy does not cover count, and foreign consumers.
    is_exclusive: ClassVar[bool] = False
    #: It is 0 exactly if all members share a domain; of a pairwise policy on a
    #: relationship, if two parts have members, else it is 0 in any case.
    binds_one_domain: ClassVar[bool] = False
    #: Among the end states of moves of several members, the worst violates it
    #: as the union of all does, which counts members wherever they may be.
    is_worst_in_union: ClassVar[bool] = False
    #: The part of a placement that determines it.
    sees: ClassVar[Literal['counts', 'domains', 'hosts']] = HOSTS
    #: The bound relies on the number of required members.
    is_bound_by_required: ClassVar[bool] = True

    at: Path
    scope: Level
    sides: Sides
    where: str
    strict: bool = True
    weight: float | fractions.Fraction = 1

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if 'domain_violation' in vars(cls):
            # The sum over domains implies these facts.
            cls.is_symmetric = True
            cls.sees = COUNTS
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)

    # -- meaning -----------------------------------------------------------

    def violation(self, view: 'View') -> int:
        """Return the violation of a placement.

        A strict policy requires 0. A soft one costs its weight times this.
        """
        if self.domain_violation is None:
            raise NotImplementedError
        return sum(map(self.domain_violation, view.counts.values()))

    #: Function of a number of members, at least 1: the violation of a domain
    #: with so many. Where it is given, it is the meaning: the violation is
    #: its sum over the used domains.
    domain_violation: ClassVar[Callable[[Self, int], int] | None] = None

    @functools.cached_property
    def unit_cost(self) -> fractions.Fraction:
        """Exact cost of one unit of violation."""
        return fractions.Fraction(str(self.weight))

    def with_unit_cost(self, unit_cost: float | fractions.Fraction) -> Self:
        """Return the policy with another cost of one unit of violation."""
        return dataclasses.replace(self, weight=unit_cost)

    def reduced(self, sides: Sides, removed_count: int) -> Self:
        """Return the policy over fewer members, before others are placed.

        :param sides: the remaining members
        :param removed_count: number of the others, placed later
        """
        return dataclasses.replace(self, sides=sides)

    # -- limits ------------------------------------------------------------

    @property
    def domain_limit(self) -> int | None:
        """Maximum number of covered members in a domain, None without one."""
        return None

    def max_violation(self, members: int, levels: int) -> int:
        """Return an upper bound of the violation.

        A meaning that exceeds the default has to say so.

        :param members: number of covered members
        :param levels: maximum number of topology levels
        """
        if self.domain_violation is not None:
            return members * _max_of_domain(self.domain_violation, members)
        return members**2 * levels

    #: Method that checks a necessary condition, which proves infeasibility
    #: where it fails: bound(limits, required, members). The two numbers are
    #: the least and the greatest number of covered members.
    bound: ClassVar[Callable[[Self, Limits, int, int], bool] | None] = None

    # -- integer program ---------------------------------------------------

    #: Method that adds rows: excesses(rows). It yields expressions that a
    #: strict policy keeps at 0 or below, and whose positive parts add up to
    #: the violation. Without it the program learns from the plans it finds.
    excesses: ClassVar[
        Callable[[Self, tools.Rows], Iterator[tools.Expression]] | None
    ] = None

    #: Method that adds the rows of the soft policy: cost(rows). It returns an
    #: expression of the violation, valid where minimised. Without it the
    #: program uses the excesses.
    cost: ClassVar[Callable[[Self, tools.Rows], tools.Expression] | None] = (
        None
    )

    def max_step(self, members: int) -> int:
        """Return an upper bound of the coefficients of the violation."""
        if self.excesses is None and self.domain_violation is not None:
            return max(1, _max_of_domain(self.domain_violation, members))
        return 1

    # -- construction ------------------------------------------------------

    def propagator(self, kinds: tools.Kinds[tools.P]) -> tools.P:
        """Return the filter of hosts for construction."""
        return kinds.unfiltered()

    # -- queries -----------------------------------------------------------

    @classmethod
    def list_facts(cls) -> list[str]:
        """Return the names of the facts that are true or false."""
        return [
            name
            for name, value in vars(Policy).items()
            if isinstance(value, bool) and name != 'strict'
        ]

    @classmethod
    def parameters(cls) -> dict[str, dataclasses.Field[Any]]:
        """Return the fields of the type's own parameters by name."""
        return {
            field.name: field
            for field in dataclasses.fields(cls)
            if 'schema' in field.metadata
        }

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Key that ignores the position in the input."""
        return (
            *(self.at, self.type, self.scope, self.sides),
            *(self.strict, self.weight),
            *(getattr(self, name) for name in self.parameters()),
        )

    @functools.cached_property
    def violation_key(self) -> Self:
        """The policy without the fields that do not affect its violation.

        Policies with the same key have the same violation for every placement;
        only its cost may differ.
        """
        same_cost = self.with_unit_cost(1)
        return dataclasses.replace(same_cost, at='', where='', strict=True)

    @functools.cached_property
    def members(self) -> tuple[Path, ...]:
        """Covered members of all sides, in their order."""
        return tuple(itertools.chain(*self.sides))

    @functools.cached_property
    def paths(self) -> frozenset[Path]:
        """Covered members as a set."""
        return frozenset(self.members)

    @property
    def size(self) -> int:
        """Number of covered members."""
        return len(self.members)


def _max_of_domain(violation: Callable[[int], int], members: int) -> int:
    return max(map(violation, range(1, members + 1)), default=0)
