"""Numbers in as many bytes as they need, as protobuf and Avro write them. Pure."""

_MORE = 0x80
"""The bit of a byte that says that another follows."""


def varint(number: int) -> bytes:
    """A number that is not negative."""
    octets = bytearray()
    while number >= _MORE:
        octets.append(number & 0x7F | _MORE)
        number >>= 7
    octets.append(number)
    return bytes(octets)


def zigzag(number: int) -> bytes:
    """A number of 64 bits with its sign, small where its distance from 0 is."""
    return varint((number << 1) ^ (number >> 63))
