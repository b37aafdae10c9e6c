# SPDX-License-Identifier: Apache-2.0
"""Search for plans: a first feasible one, then better ones."""
