# SPDX-License-Identifier: Apache-2.0
"""The reaper: periodic steps that finish work of other processes."""
