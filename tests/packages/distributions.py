# SPDX-License-Identifier: Apache-2.0
"""The distributions that are built from this repository."""

import configparser
import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True)
class Distribution:
    """A distribution: its name and the folder of its setup.cfg.

    ``pruned`` are folders in there that belong to other distributions,
    ``optional`` the groups of entry points that need an extra, and
    ``elsewhere`` those that only another program loads, from its environment.
    """

    name: str
    folder: str
    pruned: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()

    @property
    def entry_points(self):
        """The entry points of its setup.cfg, as a set of (group, name).

        Those that are loaded elsewhere are left out.
        """
        parser = configparser.ConfigParser()
        parser.optionxform = str
        parser.read(ROOT / self.folder / 'setup.cfg')
        return {
            (group, line.partition('=')[0].strip())
            for group, lines in parser['entry_points'].items()
            for line in lines.strip().splitlines()
            if group not in self.elsewhere
        }

    @property
    def entry_points_without_extras(self):
        """The entry points that need no extra, as a set of (group, name)."""
        return {
            (group, name)
            for group, name in self.entry_points
            if group not in self.optional
        }


CLIENT = Distribution(
    'nova-groupext-client',
    'client',
    optional=('novaclient.extension',),
    elsewhere=('heat.clients', 'heat.constraints'),
)
SERVICES = Distribution('nova-groupext', '.', pruned=('client', 'tempest'))
PLUGIN = Distribution('nova-groupext-tempest-plugin', 'tempest')

ALL = (CLIENT, SERVICES, PLUGIN)

# A control plane installs these together.
OF_A_CONTROL_PLANE = (CLIENT, SERVICES)
