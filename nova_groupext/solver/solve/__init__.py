# SPDX-License-Identifier: Apache-2.0
"""Path from a problem to its answer, in a child process with limits."""
