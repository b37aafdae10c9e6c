# SPDX-License-Identifier: Apache-2.0
"""Look, decide, hold, redeem, follow, release: what asks Nova and Placement.

A package for each step; ``releasing`` is short and a module. Beside them are
the two processes (``manager`` is Nova's scheduler with one more door,
``service`` the planner) and what every step asks: ``ledger``,
``verification``, ``trouble``.
"""
