# SPDX-License-Identifier: Apache-2.0
"""Proofs: a problem as an integer programme for HiGHS.

::

    objectives  one objective after the other   <- tiers; ties
    formulas    policies as rows  <- proximity
    model       counts of members by domain
    seating     the class x host programme
    milp        HiGHS
"""
