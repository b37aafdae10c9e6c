# SPDX-License-Identifier: Apache-2.0
"""Reservations for resizes and unshelves, from their hold to their end."""
