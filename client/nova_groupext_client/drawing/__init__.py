# SPDX-License-Identifier: Apache-2.0
"""Drawings of a group's members and their hosts, as text and as SVG.

Beside types, the package imports only the standard library, so that the
solver can draw its pictures with the same functions.
"""
