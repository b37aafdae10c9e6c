# SPDX-License-Identifier: Apache-2.0
"""Service clients, and JSON schemas of the responses they accept."""
