# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks of an answer file."""
