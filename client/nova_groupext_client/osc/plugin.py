# SPDX-License-Identifier: Apache-2.0
"""Plugin interface that openstackclient requires."""

from __future__ import annotations

import typing

from osc_lib import utils

if typing.TYPE_CHECKING:
    import argparse

    from osc_lib import clientmanager

    from nova_groupext_client.sdk import _proxy

API_NAME = 'vrt'
API_VERSION_OPTION = 'os_vrt_api_version'
API_VERSIONS = ('1',)
DEFAULT_API_VERSION = '1'


def make_client(instance: clientmanager.ClientManager) -> _proxy.Proxy:
    """Return the SDK proxy of VRT groups."""
    from nova_groupext_client import sdk

    sdk.register(instance.sdk_connection)
    vrt: _proxy.Proxy = instance.sdk_connection.vrt
    return vrt


def build_option_parser(
    parser: argparse.ArgumentParser,
) -> argparse.ArgumentParser:
    parser.add_argument(
        '--os-vrt-api-version',
        metavar='<vrt-api-version>',
        default=utils.env('OS_VRT_API_VERSION'),
        help=f'VRT group API version, default={DEFAULT_API_VERSION} '
        '(Env: OS_VRT_API_VERSION)',
    )
    return parser
