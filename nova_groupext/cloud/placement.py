# SPDX-License-Identifier: Apache-2.0
"""Placement as a WSGI application, configured from a file."""

from oslo_config import cfg
from placement import conf as placement_conf
from placement import db_api
from placement import deploy


def application(config_file):
    """Load Placement; the arguments of this process are ignored."""
    config = cfg.ConfigOpts()
    placement_conf.register_opts(config)
    config([], default_config_files=[str(config_file)])
    db_api.configure(config)
    return deploy.loadapp(config)
