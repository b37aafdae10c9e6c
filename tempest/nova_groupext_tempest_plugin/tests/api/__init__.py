# SPDX-License-Identifier: Apache-2.0
"""Tests of each route: valid, invalid and unauthorised requests."""
