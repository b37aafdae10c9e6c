# SPDX-License-Identifier: Apache-2.0
"""The decision: pure, without Nova and without I/O."""
