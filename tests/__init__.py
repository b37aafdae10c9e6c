# SPDX-License-Identifier: Apache-2.0
"""Tests, by the question they answer."""
