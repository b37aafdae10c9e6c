# SPDX-License-Identifier: Apache-2.0
"""Clients create, replace and delete the servers of a group."""
