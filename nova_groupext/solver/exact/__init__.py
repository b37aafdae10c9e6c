# SPDX-License-Identifier: Apache-2.0
"""Proofs: a problem as a mixed integer program for HiGHS.

::

    objectives     lexicographic optimisation  <- cost_levels; tie_breaking
    policy_rows    policies as rows  <- proximity
    member_counts  counts of members by domain
    variables      the class x host program
    milp           HiGHS
"""
