# SPDX-License-Identifier: Apache-2.0
"""Stress test: does any capacity leak, or have two owners?

Planners, schedulers and foreign consumers, each in its own process, use the
same groups and hosts with a real Placement on MariaDB, and are killed at
random. An audit compares Placement with our tables all the time and at the
end.
"""
