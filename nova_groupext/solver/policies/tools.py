# SPDX-License-Identifier: Apache-2.0
"""Tools that stages of the solver hand to a policy, as it sees them.

The stages have the classes: ``exact.policy_rows`` and ``construct.kinds``.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import Any
from typing import Protocol
from typing import TypeVar

from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Level

#: Propagator, of a class that only construction knows.
P = TypeVar('P')
P_co = TypeVar('P_co', covariant=True)


class Comparison:
    """Comparison of two expressions of the integer program."""


class Expression(Protocol):
    """Linear expression of the integer program, such as a column."""

    def __add__(self, other: 'Expression | float', /) -> 'Expression': ...
    def __radd__(self, other: float, /) -> 'Expression': ...
    def __sub__(self, other: 'Expression | float', /) -> 'Expression': ...
    def __rsub__(self, other: float, /) -> 'Expression': ...
    def __mul__(self, factor: float, /) -> 'Expression': ...
    def __rmul__(self, factor: float, /) -> 'Expression': ...
    def __le__(self, other: 'Expression | float', /) -> Comparison: ...
    def __ge__(self, other: 'Expression | float', /) -> Comparison: ...


class Count(Protocol):
    """Number of members, with its bounds."""

    @property
    def expression(self) -> Expression: ...
    @property
    def lower(self) -> int: ...
    @property
    def upper(self) -> int: ...


class Side(Protocol):
    """Set of members, such as one part of a relationship."""

    @property
    def hosts(self) -> tuple[HostId, ...]:
        """Ids of the hosts where any of them may be, sorted."""


class Rows(Protocol):
    """Tools with which a policy adds its rows to the integer program.

    A count or side as an argument is one that these methods returned: its
    class belongs to the program, hence Any.
    """

    @property
    def levels(self) -> tuple[Level, ...]:
        """Topology levels, smallest first."""

    def domain(self, host_id: HostId, level: Level, /) -> Domain | None:
        """Return the host's domain at a level, None if it has none."""

    def add_row(self, comparison: Comparison, /) -> object:
        """Add a comparison of two expressions."""

    def add_column(self, upper: float = math.inf, /) -> Expression:
        """Add a continuous column from 0 to ``upper``."""

    def add_binary(self) -> Expression:
        """Add a 0/1 column."""

    def sum(
        self, terms: Iterable[Expression], constant: float = 0, /
    ) -> Expression:
        """Return a sum; Python's own takes long for many terms."""

    def sides(self) -> Sequence[Side]:
        """Return the sides of the policy."""

    def union(self, sides: Any, /) -> Side:
        """Return the side of all members of some sides."""

    def size(self, side: Any = None, /) -> Count:
        """Return the Count of the placed members of a side, or of all."""

    def count(self, side: Any, hosts: tuple[HostId, ...], /) -> Count:
        """Return the Count of a side's members on some hosts."""

    def counts(self) -> Mapping[Domain | None, Count]:
        """Return the Counts of the covered members by domain of the scope."""

    def other_counts(self) -> Mapping[Domain | None, Count]:
        """Return the Counts of the members that are not covered."""

    def foreign_domains(self) -> set[Domain | None]:
        """Return the domains with foreign consumers."""

    def indicator(self, count: Any, /) -> Expression:
        """Return a 0/1 expression that is 1 where a count is positive."""

    def unary_expansion(self, count: Any, /) -> Sequence[Expression]:
        """Return count - lower in unary: 0/1 columns, ones before zeros."""

    def minimum(self, count: Any, limit: int, /) -> Expression:
        """Return an expression of the minimum of a count and a limit."""


class Kinds(Protocol[P_co]):
    """Kinds of propagators, of which a policy chooses one."""

    def unfiltered(self) -> P_co:
        """Return a filter of nothing, or by the violation of domains."""

    def one_domain(self) -> P_co:
        """Return a filter to one domain."""

    def short_distance(self) -> P_co:
        """Return a filter to one domain, or to near hosts."""

    def count_limit(self, limit_of: Callable[[int], int], /) -> P_co:
        """Return a filter by the number of members in a domain.

        :param limit_of: function of the final count, returns the limit
        """

    def balanced_counts(self, min_domains: int, max_skew: int, /) -> P_co:
        """Return a filter to several domains with balanced counts."""

    def exclusive_domains(self) -> P_co:
        """Return a filter to domains without others, for others, too."""
