# SPDX-License-Identifier: Apache-2.0
"""Tests of the documentation, the demo and the tools."""
