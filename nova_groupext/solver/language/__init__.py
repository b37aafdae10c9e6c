# SPDX-License-Identifier: Apache-2.0
"""Topology language: its schemas, its checks, and files in it."""
