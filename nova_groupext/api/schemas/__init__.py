# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of requests."""
