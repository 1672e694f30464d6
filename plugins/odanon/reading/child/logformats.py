"""GPX and PLT logs as streams of raw columns; runs in the child process."""

from typing import Any

import pyarrow as pa

from odanon.reading.child.unpack import BATCH_ROWS, Raw, RefusedError, Unpacked, whole_lines

_GPX_POINTS = ("trkpt", "wpt", "rtept")
_LONGEST_TIME = 64


def gpx(text: Unpacked) -> Raw:
    """Track, route and way points; a document type is refused, since entities can multiply text without end."""
    from xml.parsers import expat

    rows = _LogRows()
    handler = _GpxHandler(rows)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = handler.begin
    parser.CharacterDataHandler = handler.letters
    parser.EndElementHandler = handler.finish
    parser.StartDoctypeDeclHandler = handler.refuse
    try:
        while block := text.read():
            parser.Parse(block, False)
            if len(rows.lat) > BATCH_ROWS:
                yield rows.flush(keep_last=True), 0
        parser.Parse(b"", True)
    except expat.ExpatError:
        raise RefusedError("damaged") from None
    yield rows.flush(), 0


class _GpxHandler:
    """What an XML parser tells of a GPX file, as rows; a time counts only directly inside a point."""

    def __init__(self, rows: "_LogRows") -> None:
        self._rows = rows
        self._open: list[str] = []
        self._time: str | None = None

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rsplit(" ", 1)[-1]
        if tag in _GPX_POINTS:
            self._rows.add(None, attributes.get("lat"), attributes.get("lon"))
        self._time = "" if tag == "time" and self._open[-1:] and self._open[-1] in _GPX_POINTS else None
        self._open.append(tag)

    def letters(self, data: str) -> None:
        if self._time is not None and len(self._time) < _LONGEST_TIME:
            self._time += data[:_LONGEST_TIME]

    def finish(self, _tag: str) -> None:
        self._open.pop()
        if self._time is not None:
            self._rows.time[-1] = self._time.strip()
        self._time = None

    def refuse(self, *_: Any) -> None:
        raise RefusedError("bomb")


def plt(text: Unpacked) -> Raw:
    """Geolife's logs: six lines of preamble, then lat,lon,0,altitude,days,date,time in GMT."""
    rows, number, lost = _LogRows(), 0, 0
    for block in whole_lines(text):
        for line in block.decode("utf-8", "replace").splitlines():
            number += 1
            if number <= 6 or not line.strip():
                continue
            fields = line.split(",")
            if len(fields) == 7:
                rows.add(f"{fields[5].strip()}T{fields[6].strip()}Z", fields[0], fields[1])
            else:
                lost += 1
        yield rows.flush(), lost
        lost = 0


class _LogRows:
    """Points of a log as they are written there."""

    def __init__(self) -> None:
        self.time: list[str | None] = []
        self.lat: list[str | None] = []
        self.lon: list[str | None] = []

    def add(self, time: str | None, lat: str | None, lon: str | None) -> None:
        self.time.append(time)
        self.lat.append(lat and lat[:64])
        self.lon.append(lon and lon[:64])

    def flush(self, keep_last: bool = False) -> pa.RecordBatch:
        """The points so far; the last may still wait for its time."""
        end = len(self.lat) - 1 if keep_last else len(self.lat)
        columns = (self.time, self.lat, self.lon)
        batch = pa.RecordBatch.from_arrays([pa.array(c[:end], pa.string()) for c in columns], ["time", "lat", "lon"])
        self.time, self.lat, self.lon = (c[end:] for c in columns)
        return batch
