# SPDX-License-Identifier: Apache-2.0
"""Need of a proof that a program has no solution."""

import enum


class Proof(enum.Enum):
    """Need of a proof that a program has no solution.

    HiGHS's presolve has had bugs that make a program infeasible that is not.
    """

    #: Infeasibility decides nothing.
    NEEDLESS = enum.auto()
    #: What presolve says has to be confirmed without it.
    CONFIRMED = enum.auto()
    #: The same, and there probably is no solution: without presolve, that
    #: takes a tenth of the time.
    EXPECTED = enum.auto()
