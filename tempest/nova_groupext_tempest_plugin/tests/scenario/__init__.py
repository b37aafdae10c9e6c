# SPDX-License-Identifier: Apache-2.0
"""Scenario tests of groups, from their creation to their deletion."""
