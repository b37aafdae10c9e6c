# SPDX-License-Identifier: Apache-2.0
"""Clouds of racks and zones, and the ordinary servers that fill them."""

import dataclasses

GPU = 'CUSTOM_GPU'

#: A host is as full as the fullest of these.
MEASURED = ('VCPU', 'MEMORY_MB', 'DISK_GB')


def amounts(cpus, ram, disk, gpus=0):
    """Resource -> amount; RAM in GiB, disk in GB."""
    found = {'VCPU': cpus, 'MEMORY_MB': ram * 1024, 'DISK_GB': disk}
    return {**found, GPU: gpus} if gpus else found


#: What hosts come with, by the name of their model.
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

#: What servers ask for.
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
    """A host and what is left of it.

    :ivar total: resource -> amount
    :ivar free: the same, less what stands on it
    :ivar foreign: a server that is not of the group stands on it
    """

    id: str
    rack: str
    zone: str
    total: dict
    free: dict
    foreign: bool = False

    def fits(self, request, most=1):
        """How many such servers there is room for, ``most`` at most."""
        for resource, amount in request.items():
            most = min(most, self.free.get(resource, 0) // amount)
        return most

    def take(self, request):
        """Put a server on it."""
        for resource, amount in request.items():
            self.free[resource] -= amount

    def give(self, request):
        """Take a server off it."""
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
        for rack, inside in self.racks.items():
            self.zones.setdefault(inside[0].zone, []).append(rack)


def build(rng, count, with_gpus=False):
    """An empty cloud.

    Racks have 20 to 40 hosts of one to three models. With GPUs, every tenth
    rack has them, on every third of its hosts.

    :param rng: random.Random
    :param count: how many hosts
    """
    racks = max(4, round(count / 30))
    zones = 2 if racks < 12 else 3 if racks < 60 else 5
    weights = [rng.uniform(20, 40) for _ in range(racks)]
    shelves = rng.choices(range(racks), weights, k=count)
    models = [_models(rng) for _ in range(racks)]
    hosts = []
    for number, rack in enumerate(sorted(shelves)):
        total = SHAPES[rng.choice(models[rack])]
        if with_gpus and rack % 10 == 2 and number % 3 == 0:
            total = GPU_SHAPE
        name, zone = f'rack-{rack:03}', f'az{rack % zones}'
        hosts.append(Host(f'cmp-{number:05}', name, zone, total, dict(total)))
    return Cloud(hosts)


def fill(rng, cloud, share):
    """Put ordinary servers on hosts until the cloud is that full.

    Most land on any host with room, larger hosts more often, some on the
    fullest of three; racks are differently popular. Large ones come as long
    as there is room for them.

    :param share: of all VCPUs, those of a host counted as far as it is full
    """
    Filling(rng, cloud).reach(share)


class Filling:
    """Ordinary servers as they come."""

    def __init__(self, rng, cloud):
        self.rng = rng
        self.wanted = [
            name for name, often in _POPULAR.items() for _ in range(often)
        ]
        popular = {rack: rng.choice((4, 5, 6)) for rack in cloud.racks}
        self.pool = [
            host
            for host in cloud.hosts
            for _ in range(popular[host.rack] * host.total['VCPU'] // 16)
        ]
        self.total = sum(host.total['VCPU'] for host in cloud.hosts)
        self.used = sum(_used(host) for host in cloud.hosts)

    def reach(self, share):
        """Go on until that share is in use, or nothing fits any more."""
        while self.pool and self.used < share * self.total:
            place = self._draw()
            host = self.pool[place]
            before = _used(host)
            if add_server(host, self._wish(host)):
                self.used += _used(host) - before
            else:
                self.pool[place] = self.pool[-1]
                self.pool.pop()

    def _wish(self, host):
        # Who has GPUs keeps them for those who need them.
        if GPU in host.total and self.rng.random() < 0.5:
            return self.rng.choice(_WITH_GPUS)
        return self.rng.choice(self.wanted)

    def _draw(self):
        places = range(len(self.pool))
        habit = self.rng.choices(_HABITS, _OFTEN)[0]
        three = self.rng.choices(places, k=3)
        if habit is None:
            return three[0]
        return habit(three, key=lambda place: self.pool[place].free['VCPU'])


def add_server(host, name):
    """Put one on a host, of this flavor or the next smaller that fits.

    :returns: whether there was room for any
    """
    for smaller in _DOWNWARD[name]:
        request = FLAVORS[smaller]
        if host.fits(request):
            host.take(request)
            host.foreign = True
            return True
    return False


def _models(rng):
    return rng.sample(sorted(SHAPES), rng.choice((1, 2, 2, 3)))


def _used(host):
    return host.fullness() * host.total['VCPU']


def _size(name):
    return FLAVORS[name].get(GPU, 0), *FLAVORS[name].values()


#: Of 64 servers, how many have this flavor.
_POPULAR = {
    **{'c1': 6, 'm1': 8, 'c2': 6, 'm2': 8, 'r2': 3, 'c4': 4, 'm4': 7, 'd4': 2},
    **{'c8': 3, 'm8': 5, 'r8': 2, 'c16': 1, 'm16': 2, 'r16': 1, 'm24': 1},
    **{'d8': 1, 'd16': 1, 'r24': 1, 'c32': 1, 'm32': 1},
}

#: Where servers go: to the emptiest of three, anywhere, to the fullest.
_HABITS = (max, None, min)
_OFTEN = (7, 2, 1)

_WITH_GPUS = ('g8', 'g8', 'g8', 'g16')

_BY_SIZE = sorted(FLAVORS, key=_size, reverse=True)

#: Flavor -> itself and all that are smaller, largest first.
_DOWNWARD = {name: _BY_SIZE[number:] for number, name in enumerate(_BY_SIZE)}
