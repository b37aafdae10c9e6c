# SPDX-License-Identifier: Apache-2.0
"""The decision, pure: no Nova, no database, no network.

How a problem becomes an answer::

    problem     the problem file   <- files, topology, schemas, invalid
    decide      asks a child process, checks its plan with the rules
    child       worker, within limits of time and memory   <- process
    search      stages: members, cost, preference, ties; or the reasons
    proofs      quick proofs that there is no plan  <- bounds/, parts
    explain/    the reasons of a refusal, and what would help
    exact/      proofs by integer programming

    rules       what policies mean; every plan is held against them
    tags        what a refusal may name: strict policies and members
    answer      the answer file: summary tells it, draw shows it,
    check/      verifies it
"""
