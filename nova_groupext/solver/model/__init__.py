# SPDX-License-Identifier: Apache-2.0
"""Data model of the solver: the problem, its parts, plans and answers."""
