# SPDX-License-Identifier: Apache-2.0
"""Deployment of a template: hold a group, then create its servers.

A run may stop after any step. Nova stores the result of each step, so
another run finds it there and continues.
"""
