# SPDX-License-Identifier: Apache-2.0
"""Infeasibility proofs that precede any search."""
