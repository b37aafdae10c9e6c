# SPDX-License-Identifier: Apache-2.0
"""Does anything leak, or have two owners, however hard it is shaken?

Planners, schedulers and strangers, each a process of its own, work on the
same groups and the same hosts against a real Placement on MariaDB, and are
killed at random. A referee watches; in the end the books have to agree.
"""
