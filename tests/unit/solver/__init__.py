# SPDX-License-Identifier: Apache-2.0
"""Unit tests of the planner."""

from tests import unhurried

unhurried.stretch()
