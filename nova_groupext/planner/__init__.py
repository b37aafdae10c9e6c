# SPDX-License-Identifier: Apache-2.0
"""The decision, pure: no Nova, no database, no network.

How a problem becomes an answer::

    problem     the problem file   <- topology, schemas, invalid
    decide      asks a child process, checks its plan with the rules
    child       search, within limits of time and memory
    search      stages: members, cost, preference, ties; or the reasons
    exact       one objective after the other   <- ties, explain
    formulas    policies as rows  <- proximity
    model       counts of members by domain
    seating     the class x host programme  <- units
    milp        HiGHS

    rules       what policies mean; every plan is held against them
    answer      the answer file
"""
