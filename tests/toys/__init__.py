# SPDX-License-Identifier: Apache-2.0
"""Toy policies of another package, and the fixture that installs it."""
