# SPDX-License-Identifier: Apache-2.0
"""Verification of an answer file against its problem.

``answer_schema`` parses the file and ``verify`` judges it: ``placed``
evaluates the policies, ``refused`` solves problems that it derives from the
conflict and the relaxations alone.
"""
