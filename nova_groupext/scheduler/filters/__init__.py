# SPDX-License-Identifier: Apache-2.0
"""Scheduler filter that an operator adds to Nova."""
