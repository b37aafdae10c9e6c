# SPDX-License-Identifier: Apache-2.0
"""Scheduler weigher that an operator adds to Nova."""
