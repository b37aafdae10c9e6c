# SPDX-License-Identifier: Apache-2.0
"""Requests to Placement, and checks of the amounts in it."""
