# SPDX-License-Identifier: Apache-2.0
"""The solver: the joint decision for a problem. No Nova, no database, no I/O.

Each package imports only from the packages above it::

    aliases     type aliases for signatures; arrays; tuning: the tuned numbers
    policies    the policy types: meaning, bounds, rows, propagators
    language    the topology language: schemas, errors, files
    model       the problem, also as arrays, subproblems, plans, the answer

    bounds      proofs that capacity is missing, without a solver
    construct   randomised greedy construction
    exact       integer programs for HiGHS: feasibility, optima

    repair      insertion of the members that construction left out
    proofs      proofs that there is no plan, found before any search
    search      a first feasible plan, then better ones
    explain     the minimal conflict of a refusal, and relaxations
    verify      checks of an answer file
    moves       whether a member may move, and the fewest moves

    solve       the stages of a decision, and the process they run in
"""
