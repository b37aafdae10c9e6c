# SPDX-License-Identifier: Apache-2.0
"""Moves of members: a check of one move, and plans with minimum moves."""
