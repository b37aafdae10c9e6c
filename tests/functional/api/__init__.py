# SPDX-License-Identifier: Apache-2.0
"""Tests of the HTTP API's answers to every persona and every request."""
