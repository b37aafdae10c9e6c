# SPDX-License-Identifier: Apache-2.0
"""Sphinx: ``sphinx-build -W doc/source doc/build``."""

extensions = ['sphinx.ext.autodoc']
project = 'nova_groupext'
copyright = 'nova_groupext developers'
html_theme = 'alabaster'
