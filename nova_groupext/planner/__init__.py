# SPDX-License-Identifier: Apache-2.0
"""The decision, pure: no Nova, no database, no network.

How a problem becomes an answer::

    problem     the problem file   <- files, topology, schemas, invalid
    decide      asks a child process, checks its plan with the rules
    child       worker, within limits of time and memory   <- process
    search      better and better answers; the last one counts
      proofs      quick proofs that there is no plan  <- bounds/, parts, sketch
      feasible    any plan: greedy/, then repair/, then ask
      improve     better plans: greedy/, neighbours, exact/
      explain/    the reasons of a refusal, and what would help
    greedy/     attempts, each member where the least is lost
    exact/      optima and proofs by integer programming   <- ask
    subproblem  smaller problems, whose plans are plans of the whole

    rules       what policies mean; every plan is held against them
    tags        what a refusal may name: strict policies and members
    answer      the answer file: summary tells it, draw shows it,
    check/      verifies it
"""
