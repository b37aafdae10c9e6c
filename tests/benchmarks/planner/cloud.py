# SPDX-License-Identifier: Apache-2.0
"""Clouds of racks and zones, and the ordinary servers that fill them."""

import dataclasses

GPU = 'CUSTOM_GPU'

#: A host is as full as the fullest of these.
MEASURED = ('VCPU', 'MEMORY_MB', 'DISK_GB')


def amounts(cpus, ram, disk, gpus=0):
    """Resource -> amount; RAM in GiB, disk in GB."""
    requested = {'VCPU': cpus, 'MEMORY_MB': ram * 1024, 'DISK_GB': disk}
    return {**requested, GPU: gpus} if gpus else requested


#: Total amounts of hosts, by model.
SHAPES = {
    'tiny': amounts(16, 64, 480),
    'small': amounts(32, 128, 960),
    'memory': amounts(32, 256, 960),
    'medium': amounts(64, 256, 1920),
    'storage': amounts(48, 192, 7680),
    'large': amounts(96, 384, 1920),
    'huge': amounts(128, 768, 3840),
}

GPU_SHAPE = amounts(64, 384, 1920, gpus=4)

#: Requested amounts of servers, by flavor.
FLAVORS = {
    'c1': amounts(1, 2, 10),
    'm1': amounts(1, 4, 20),
    'c2': amounts(2, 4, 20),
    'm2': amounts(2, 8, 40),
    'r2': amounts(2, 16, 40),
    'c4': amounts(4, 8, 40),
    'm4': amounts(4, 16, 80),
    'd4': amounts(4, 16, 600),
    'c8': amounts(8, 16, 80),
    'm8': amounts(8, 32, 160),
    'r8': amounts(8, 64, 160),
    'd8': amounts(8, 32, 1200),
    'c16': amounts(16, 32, 160),
    'm16': amounts(16, 64, 320),
    'r16': amounts(16, 128, 320),
    'd16': amounts(16, 64, 1500),
    'm24': amounts(24, 96, 480),
    'r24': amounts(24, 192, 480),
    'c32': amounts(32, 64, 320),
    'm32': amounts(32, 128, 640),
    'g8': amounts(8, 48, 200, gpus=1),
    'g16': amounts(16, 96, 400, gpus=2),
}


@dataclasses.dataclass(eq=False)
class Host:
    """A host and its free amounts.

    :ivar total: resource -> amount
    :ivar free: resource -> amount not used by servers
    :ivar foreign: whether it has a server that is not of the group
    """

    id: str
    rack: str
    zone: str
    total: dict
    free: dict
    foreign: bool = False

    def count_fits(self, request, max_count=1):
        """Return how many such servers fit, at most ``max_count``."""
        for resource, amount in request.items():
            max_count = min(max_count, self.free.get(resource, 0) // amount)
        return max_count

    def assign(self, request):
        """Assign a server to the host."""
        for resource, amount in request.items():
            self.free[resource] -= amount

    def unassign(self, request):
        """Remove a server from the host."""
        for resource, amount in request.items():
            self.free[resource] += amount

    def fullness(self):
        """Share of the scarcest resource in use, 0 to 1."""
        return max(1 - self.free[r] / self.total[r] for r in MEASURED)


class Cloud:
    """Hosts in racks in zones.

    :ivar hosts: all Hosts, by id
    :ivar racks: name -> Hosts
    :ivar zones: name -> names of racks
    """

    def __init__(self, hosts):
        self.hosts = hosts
        self.racks = {}
        self.zones = {}
        for host in hosts:
            self.racks.setdefault(host.rack, []).append(host)
        for rack, hosts in self.racks.items():
            self.zones.setdefault(hosts[0].zone, []).append(rack)


def build(rng, count, with_gpus=False, with_one_model=False):
    """An empty cloud.

    Racks have 20 to 40 hosts of one to three models. With GPUs, every tenth
    rack has them, on every third of its hosts.

    :param rng: random.Random
    :param count: how many hosts
    :param with_one_model: whether all hosts are of the same size
    """
    racks = max(4, round(count / 30))
    zones = 2 if racks < 12 else 3 if racks < 60 else 5
    weights = [rng.uniform(20, 40) for _ in range(racks)]
    rack_numbers = rng.choices(range(racks), weights, k=count)
    models = [
        ['medium'] if with_one_model else _models(rng) for _ in range(racks)
    ]
    hosts = []
    for number, rack in enumerate(sorted(rack_numbers)):
        total = SHAPES[rng.choice(models[rack])]
        if with_gpus and rack % 10 == 2 and number % 3 == 0:
            total = GPU_SHAPE
        name, zone = f'rack-{rack:03}', f'az{rack % zones}'
        hosts.append(Host(f'cmp-{number:05}', name, zone, total, dict(total)))
    return Cloud(hosts)


def fill(rng, cloud, share):
    """Add ordinary servers to hosts until a share of the cloud is used.

    Most go to the emptiest of three random hosts, some to any or the fullest;
    larger hosts and popular racks get more. A server that does not fit becomes
    smaller.

    :param share: of all VCPUs, those of a host counted as far as it is full
    """
    ServerStream(rng, cloud).fill_to(share)


def fill_up(cloud):
    """Fill all hosts with servers that leave nothing free."""
    for host in cloud.hosts:
        host.foreign |= any(host.free.values())
        host.free = dict.fromkeys(host.free, 0)


class ServerStream:
    """Random sequence of ordinary servers."""

    def __init__(self, rng, cloud):
        self.rng = rng
        self.flavors = [
            name
            for name, weight in _FLAVOR_WEIGHTS.items()
            for _ in range(weight)
        ]
        popularity = {rack: rng.choice((4, 5, 6)) for rack in cloud.racks}
        self.host_pool = [
            host
            for host in cloud.hosts
            for _ in range(popularity[host.rack] * host.total['VCPU'] // 16)
        ]
        self.total = sum(host.total['VCPU'] for host in cloud.hosts)
        self.used = sum(_used(host) for host in cloud.hosts)

    def fill_to(self, share):
        """Add servers until a share is used, or no server fits."""
        while self.host_pool and self.used < share * self.total:
            index = self._choose_index()
            host = self.host_pool[index]
            before = _used(host)
            if add_server(host, self._choose_flavor(host)):
                self.used += _used(host) - before
            else:
                self.host_pool[index] = self.host_pool[-1]
                self.host_pool.pop()

    def _choose_flavor(self, host):
        # Hosts with GPUs are mostly used for servers that need them.
        if GPU in host.total and self.rng.random() < 0.5:
            return self.rng.choice(_WITH_GPUS)
        return self.rng.choice(self.flavors)

    def _choose_index(self):
        indices = range(len(self.host_pool))
        selection = self.rng.choices(_SELECTIONS, _SELECTION_WEIGHTS)[0]
        candidates = self.rng.choices(indices, k=3)
        if selection is None:
            return candidates[0]
        return selection(
            candidates, key=lambda index: self.host_pool[index].free['VCPU']
        )


def add_server(host, name):
    """Add a server of this flavor, or of the next smaller one that fits.

    :returns: whether any fits
    """
    for smaller in _NOT_LARGER[name]:
        request = FLAVORS[smaller]
        if host.count_fits(request):
            host.assign(request)
            host.foreign = True
            return True
    return False


def _models(rng):
    return rng.sample(sorted(SHAPES), rng.choice((1, 2, 2, 3)))


def _used(host):
    return host.fullness() * host.total['VCPU']


def _size(name):
    return FLAVORS[name].get(GPU, 0), *FLAVORS[name].values()


#: Number of servers in 64 that have this flavor.
_FLAVOR_WEIGHTS = {
    **{'c1': 6, 'm1': 8, 'c2': 6, 'm2': 8, 'r2': 3, 'c4': 4, 'm4': 7, 'd4': 2},
    **{'c8': 3, 'm8': 5, 'r8': 2, 'c16': 1, 'm16': 2, 'r16': 1, 'm24': 1},
    **{'d8': 1, 'd16': 1, 'r24': 1, 'c32': 1, 'm32': 1},
}

#: Choices among three hosts: the emptiest, any, the fullest.
_SELECTIONS = (max, None, min)
_SELECTION_WEIGHTS = (7, 2, 1)

_WITH_GPUS = ('g8', 'g8', 'g8', 'g16')

_BY_SIZE = sorted(FLAVORS, key=_size, reverse=True)

#: Flavor -> this and all smaller flavors, largest first.
_NOT_LARGER = {name: _BY_SIZE[number:] for number, name in enumerate(_BY_SIZE)}
