"""Where traces come from, and the door they pass: readers, validation, quarantine.

A source is a plugin of the group `odanon.sources`. Its class attribute `enters` names the stage of the chain that it
feeds, and with it the method that it has beside `available(day)`:

- `enters = "traces"`: `batches(start, end, context)` yields frames person, time, lat, lon and, for antenna events,
  antenna, of the window and of `context` before and after it;
- `enters = "trips"`: `trips(start, end)` yields frames of `odanon.trips.build.TRIP_COLUMNS`, or with origin and
  destination labels instead of coordinates and distance;
- `enters = "od"`: `od(start, end)` yields frames of `odanon.trips.od.OD_COLUMNS`; person, segment and weight may be absent.

Frames hold the original ids: whoever takes them replaces these by pseudonyms before anything is written. Times are
aware, except in frames whose rows no zone places; these have times without a zone and are quarantined. `start` and
`end` are aware instants; rows outside them may come along. `available` looks at names only, never into files.
A source may have `state(days)`: a text that changes when its data of these days does, told as cheaply. Data that comes
after its day was published is then noticed.

A file that cannot be read stops the day that it belongs to. If it belongs only to a neighbouring day, which is read for the
sake of stays across midnight, it is passed over like a neighbour that is not there: the frame's attribute
`odanon.reading.frames.UNREADABLE` counts it, and the figures of the traces stage report it.
"""
