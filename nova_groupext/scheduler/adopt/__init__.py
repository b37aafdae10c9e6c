# SPDX-License-Identifier: Apache-2.0
"""Adoption: servers that exist already become members."""
