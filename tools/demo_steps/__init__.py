# SPDX-License-Identifier: Apache-2.0
"""Modules of the demo: users, scenario, steps, measurements and output."""
