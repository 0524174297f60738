"""How does a trace look in Perfetto's own format? Small, and written array by array.

A file is a list of packets, protocol buffers with the few fields that follow. A packet of a slice
differs from its neighbour only in its time and name, whose numbers are written in as many bytes
each: so NumPy fills a million packets at once, and no package is needed.
Source: perfetto.dev, protos/perfetto/trace (the public description of the format).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from prema_gym.metrics import IntArray
from prema_gym.views.trace import Arrow, CounterTrack, Process, SliceTrack

Bytes = NDArray[np.uint8]

# Numbers of fields.
PACKET, TIMESTAMP, SEQUENCE_ID, TRACK_EVENT, INTERNED, FLAGS, DESCRIPTOR = 1, 8, 10, 11, 12, 13, 60
EVENT_TYPE, EVENT_NAME_ID, EVENT_TRACK, EVENT_NAME, EVENT_COUNT = 9, 10, 11, 23, 30
EVENT_FLOW, EVENT_FLOW_END = 47, 48
TRACK_ID, TRACK_NAME, TRACK_PROCESS, TRACK_PARENT, TRACK_COUNTER = 1, 2, 3, 5, 8
PROCESS_ID, PROCESS_NAME, COUNTER_UNIT_NAME, INTERNED_EVENT_NAME = 1, 6, 6, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
NEW_NAMES, NEEDS_NAMES = 1, 2
VARINT, FIXED64, BLOCK = 0, 1, 2


def to_perfetto(processes: Sequence[Process]) -> bytes:
    """A trace as Perfetto's own file."""
    ids = count(1)
    return b"".join(part for i, one in enumerate(processes, 1) for part in _process(one, i, ids))


def _process(process: Process, number: int, ids: Iterator[int]) -> Iterator[bytes]:
    """Descriptors first, then names, then what happens; one sequence of packets a process."""
    sequence = _field(SEQUENCE_ID, number)
    own = next(ids)
    about = _field(PROCESS_ID, number) + _field(PROCESS_NAME, process.name)
    yield _packet(
        _field(DESCRIPTOR, _field(TRACK_ID, own) + _field(TRACK_PROCESS, about)), sequence
    )
    names = b"".join(
        _field(INTERNED_EVENT_NAME, _field(1, index) + _field(2, name))
        for index, name in enumerate(process.names, 1)
    )
    yield _packet(sequence, _field(FLAGS, NEW_NAMES), _field(INTERNED, names))
    tracks = [next(ids) for _ in process.slices]
    for track, one in zip(tracks, process.slices, strict=True):
        yield _descriptor(track, one.name, own, sequence)
        yield _slices(one, track, sequence)
        for mark in one.marks:
            happened = _field(EVENT_NAME, mark.name)
            yield _event(INSTANT, track, mark.at_ns, sequence, happened)
    for counter in process.counters:
        track = next(ids)
        unit = _field(TRACK_COUNTER, _field(COUNTER_UNIT_NAME, counter.unit))
        yield _descriptor(track, counter.name, own, sequence, unit)
        yield _counts(counter, track, sequence)
    # An arrow binds to events, not to slices: marks at its ends.
    for arrow in process.arrows:
        yield from _arrow(arrow, tracks, number, sequence)


def _arrow(arrow: Arrow, tracks: Sequence[int], number: int, sequence: bytes) -> Iterator[bytes]:
    flow = number * 10**9 + arrow.task
    ends = (
        (tracks[1 + arrow.lane], arrow.arrival_ns, "arrives", EVENT_FLOW),
        (tracks[0], arrow.first_run_ns, "runs first", EVENT_FLOW),
        (tracks[0], arrow.last_run_ns, "runs last", EVENT_FLOW_END),
    )
    for track, at_ns, name, kind in ends:
        bound = _key(kind, FIXED64) + flow.to_bytes(8, "little")
        yield _event(INSTANT, track, at_ns, sequence, _field(EVENT_NAME, name) + bound)


def _descriptor(track: int, name: str, parent: int, sequence: bytes, rest: bytes = b"") -> bytes:
    about = _field(TRACK_ID, track) + _field(TRACK_NAME, name) + _field(TRACK_PARENT, parent) + rest
    return _packet(_field(DESCRIPTOR, about), sequence)


def _event(kind: int, track: int, at_ns: int, sequence: bytes, rest: bytes) -> bytes:
    event = _field(EVENT_TYPE, kind) + _field(EVENT_TRACK, track) + rest
    return _packet(_field(TIMESTAMP, at_ns), sequence, _field(TRACK_EVENT, event))


def _slices(track: SliceTrack, number: int, sequence: bytes) -> bytes:
    """A packet where each slice begins and one where it ends, in turns."""
    begins = _packets(
        track.start_ns, sequence + _field(FLAGS, NEEDS_NAMES), _kind(BEGIN, number),
        (EVENT_NAME_ID, track.names + 1),
    )  # fmt: skip
    ends = _packets(track.end_ns, sequence, _kind(END, number))
    return np.hstack([begins, ends]).tobytes()


def _counts(counter: CounterTrack, number: int, sequence: bytes) -> bytes:
    value = (EVENT_COUNT, counter.values)
    return _packets(counter.at_ns, sequence, _kind(COUNTER, number), value).tobytes()


def _kind(kind: int, track: int) -> bytes:
    return _field(EVENT_TYPE, kind) + _field(EVENT_TRACK, track)


def _packets(
    at_ns: IntArray, common: bytes, event: bytes, last: tuple[int, IntArray] | None = None
) -> Bytes:
    """Packets of one length, uint8 (packets, bytes).

    Args:
        at_ns: When, int64 (packets,).
        common: Fields that all packets share.
        event: Fields that all events share.
        last: A further field of the event: its number and its value in each packet.
    """
    rows = len(at_ns)
    own = [] if last is None else [_repeated(_key(last[0], VARINT), rows), _numbers(last[1])]
    about = [_repeated(event, rows), *own]
    head = _key(TRACK_EVENT, BLOCK) + _number(sum(part.shape[1] for part in about))
    parts = [_repeated(_key(TIMESTAMP, VARINT), rows), _numbers(at_ns)]
    parts += [_repeated(common + head, rows), *about]
    length = sum(part.shape[1] for part in parts)
    return np.hstack([_repeated(_key(PACKET, BLOCK) + _number(length), rows), *parts])


def _repeated(data: bytes, rows: int) -> Bytes:
    return np.tile(np.frombuffer(data, np.uint8), (rows, 1))


def _numbers(values: IntArray) -> Bytes:
    """Numbers from 0 on as varints of one length: shorter ones have zeros for high digits."""
    width = len(_number(int(values.max(initial=0))))
    shifts = 7 * np.arange(width)
    digits = (values[:, np.newaxis] >> shifts) & 0x7F
    digits[:, :-1] |= 0x80
    return digits.astype(np.uint8)


def _packet(*parts: bytes) -> bytes:
    return _field(PACKET, b"".join(parts))


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _key(number, VARINT) + _number(value)
    data = value.encode() if isinstance(value, str) else value
    return _key(number, BLOCK) + _number(len(data)) + data


def _key(number: int, kind: int) -> bytes:
    return _number(number << 3 | kind)


def _number(value: int) -> bytes:
    """A number from 0 on as a varint: seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
