# SPDX-License-Identifier: Apache-2.0
"""Moves of servers: their destinations, and drift from the policies."""
