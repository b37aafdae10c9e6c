# SPDX-License-Identifier: Apache-2.0
"""The measurement behind each number of ``nova_groupext.solver.tuning``."""
