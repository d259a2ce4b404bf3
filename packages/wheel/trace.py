"""Decodes a trace by the schema that Perfetto publishes, and checks the slices of its tracks.

    trace.py FILE RANKS NAME...     NAME: a call that has slices
"""

import sys
from collections import Counter

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

MONOTONIC = 3


def check_known(message: Message) -> None:
    """Refuses fields that the schema does not have, or has with another type."""
    assert not len(UnknownFieldSet(message)), f"unknown fields in {message}"
    for _, value in message.ListFields():
        for one in [value] if isinstance(value, (Message, str, bytes, int, float)) else value:
            if isinstance(one, Message):
                check_known(one)


def main(file: str, ranks: int, expected: list[str]) -> None:
    with open(file, "rb") as opened:
        trace = Trace.FromString(opened.read())
    check_known(trace)
    clocks = {clock.clock_id for clock in trace.packet[0].clock_snapshot.clocks}
    assert {1, 3, 6} <= clocks, f"the clocks of the first packet: {clocks}"
    snapshots = [packet.clock_snapshot.clocks for packet in trace.packet]
    monotonic = [one.timestamp for all in snapshots for one in all if one.clock_id == MONOTONIC]
    assert all(a < b for a, b in zip(monotonic, monotonic[1:])), "snapshots that are not in order"
    names, defaults, processes, tracks = {}, {}, set(), set()
    clock, now = {}, {}
    opened, latest, counts, begins, ends = Counter(), Counter(), Counter(), set(), set()
    for packet in trace.packet[1:]:
        sequence = packet.trusted_packet_sequence_id
        if packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            defaults[sequence] = packet.trace_packet_defaults.track_event_defaults.track_uuid
            clock[sequence] = packet.trace_packet_defaults.timestamp_clock_id
        for one in packet.clock_snapshot.clocks:
            if one.is_incremental:
                assert 64 <= one.clock_id < 128, f"clock {one.clock_id} is not one of a sequence"
                now[sequence, one.clock_id] = one.timestamp
        for name in packet.interned_data.event_names:
            names[sequence, name.iid] = name.name
        if packet.HasField("track_descriptor"):
            tracks.add(packet.track_descriptor.uuid)
            if packet.track_descriptor.HasField("process"):
                processes.add(packet.track_descriptor.process.process_name)
        if not packet.HasField("track_event"):
            continue
        event, by = packet.track_event, packet.timestamp_clock_id or clock[sequence]
        if by == MONOTONIC:
            time = packet.timestamp
        else:
            time = now[sequence, by] = now[sequence, by] + packet.timestamp
        track = event.track_uuid or defaults[sequence]
        assert track in tracks, f"track {track} has no description"
        if event.type == TrackEvent.TYPE_COUNTER:
            continue
        assert time >= latest[track], f"a slice of track {track} goes back in time"
        latest[track] = time
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            opened[track] += 1
            counts[names[sequence, event.name_iid]] += 1
        else:
            assert event.type == TrackEvent.TYPE_SLICE_END, event
            assert opened[track] > 0, f"an end without a beginning on track {track}"
            opened[track] -= 1
        begins.update(event.flow_ids)
        ends.update(event.terminating_flow_ids)
    assert processes == {f"rank {rank}" for rank in range(ranks)}, processes
    assert not +opened, f"slices that do not end: {+opened}"
    assert ends <= begins, "an arrow that begins nowhere"
    missing = [name for name in expected if not counts[name]]
    assert not missing, f"no slice of {missing}, but of {dict(counts)}"
    print(f"{sum(counts.values())} slices and {len(ends)} arrows, by Perfetto's schema")


main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
