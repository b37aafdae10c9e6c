# SPDX-License-Identifier: Apache-2.0
"""Folder for ``plugin_dirs`` of heat.conf."""
