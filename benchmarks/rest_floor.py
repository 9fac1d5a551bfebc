"""What an API answers to a client that does nothing but ask: the floor of `rest-sinks`."""

import asyncio
from urllib.parse import urlsplit

_REQUEST = b"POST / HTTP/1.1\r\nHost: api\r\nContent-Length: 2\r\n\r\n{}"


def calls_a_second(url: str, in_flight: int, seconds: float) -> float:
    """Calls over some connections that stay open, each answered before the next is made."""
    return asyncio.run(_speed(int(urlsplit(url).port or 80), in_flight, seconds))


async def _speed(port: int, in_flight: int, seconds: float) -> float:
    now = asyncio.get_running_loop().time
    began = now()
    made = await asyncio.gather(*(_connection(port, began + seconds) for _ in range(in_flight)))
    return sum(made) / (now() - began)


async def _connection(port: int, ends_at: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    now, count = asyncio.get_running_loop().time, 0
    while now() < ends_at:
        writer.write(_REQUEST)
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(maxsplit=1)[0]
        await reader.readexactly(int(length))
        count += 1
    writer.close()
    await writer.wait_closed()
    return count
