# SPDX-License-Identifier: Apache-2.0
"""Proofs: a problem as a mixed integer program for HiGHS.

::

    objectives     lexicographic optimisation  <- cost_levels; tie_breaking
    feasibility    is there any plan?
    cuts           rows learnt from plans that violate a policy
    domain_choices one domain for members that have to share it
    policy_rows    policies as rows
    member_counts  counts of members by domain
    variables      the class x host program
    milp           HiGHS
"""
