# SPDX-License-Identifier: Apache-2.0
"""Lead connections of one port to another: ``serve_door.py PORT TARGET``.

A storm cuts its connections by killing it, and lets the network hang by
stopping it.
"""

import asyncio
import sys

HOST = '127.0.0.1'
CHUNK_BYTES = 2**16


async def main(port, target):
    async def lead(reader, writer):
        try:
            other_reader, other_writer = await asyncio.open_connection(
                HOST, target
            )
        except OSError:
            writer.close()
            return
        await asyncio.gather(
            _copy(reader, other_writer), _copy(other_reader, writer)
        )

    server = await asyncio.start_server(
        lead, HOST, port, backlog=512, reuse_port=True
    )
    async with server:
        await server.serve_forever()


async def _copy(reader, writer):
    """Copy until one side closes its connection."""
    try:
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


if __name__ == '__main__':
    asyncio.run(main(*map(int, sys.argv[1:])))
