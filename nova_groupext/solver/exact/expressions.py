# SPDX-License-Identifier: Apache-2.0
"""Linear expressions over the columns of a program, and comparisons of them.

An expression is two lists and a constant, so that a row of many terms is
quickly written.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import math
from typing import TypeAlias

from nova_groupext.solver.policies import tools

#: What expressions are added to, multiplied with and compared to
Operand: TypeAlias = tools.Expression | float


class Expression:
    """Sum of columns with coefficients, and of a constant.

    :ivar columns: numbers of columns; the same one may be there twice
    :ivar coefficients: of these columns
    """

    __slots__ = ('coefficients', 'columns', 'constant')

    def __init__(
        self,
        columns: Sequence[int] = (),
        coefficients: Sequence[float] = (),
        constant: float = 0,
    ) -> None:
        self.columns = columns
        self.coefficients = coefficients
        self.constant = constant

    def __add__(self, other: Operand) -> 'Expression':
        return total([self, _of(other)])

    __radd__ = __add__

    def __sub__(self, other: Operand) -> 'Expression':
        return total([self, _of(other) * -1])

    def __rsub__(self, other: Operand) -> 'Expression':
        return total([_of(other), self * -1])

    def __mul__(self, factor: float) -> 'Expression':
        return Expression(
            self.columns,
            [each * factor for each in self.coefficients],
            self.constant * factor,
        )

    __rmul__ = __mul__

    def __le__(self, other: Operand) -> 'Comparison':
        difference = self - other
        return Comparison(difference, upper=-difference.constant)

    def __ge__(self, other: Operand) -> 'Comparison':
        difference = self - other
        return Comparison(difference, lower=-difference.constant)

    def equals(self, other: Operand) -> 'Comparison':
        difference = self - other
        bound = -difference.constant
        return Comparison(difference, lower=bound, upper=bound)


class Column(Expression):
    """A column of a program.

    :ivar index: its number
    """

    __slots__ = ('index',)

    def __init__(self, index: int) -> None:
        super().__init__((index,), (1.0,))
        self.index = index


@dataclasses.dataclass(frozen=True)
class Comparison(tools.Comparison):
    """Bounds of an expression without its constant."""

    expression: Expression
    lower: float = -math.inf
    upper: float = math.inf

    def terms(self) -> tuple[list[int], list[float]]:
        """Return columns and coefficients, each column once."""
        columns = self.expression.columns
        coefficients = self.expression.coefficients
        if len(set(columns)) == len(columns):
            return [*columns], [*coefficients]
        sums: dict[int, float] = {}
        for column, coefficient in zip(columns, coefficients, strict=True):
            sums[column] = sums.get(column, 0) + coefficient
        return [*sums], [*sums.values()]


def total(
    terms: Iterable[tools.Expression], constant: float = 0
) -> Expression:
    """Return a sum; Python's own takes long for many terms."""
    columns: list[int] = []
    coefficients: list[float] = []
    for each in map(_of, terms):
        columns += each.columns
        coefficients += each.coefficients
        constant += each.constant
    return Expression(columns, coefficients, constant)


def _of(operand: Operand) -> Expression:
    if isinstance(operand, Expression):
        return operand
    if isinstance(operand, int | float):
        return Expression(constant=operand)
    raise TypeError(f'{type(operand)} is no expression of this program')
