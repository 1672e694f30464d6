"use strict";
// The published flows in memory, as columns, and sums over them.
(() => {
  // Rows of several bins as a part for each of these, with the share of their trips that an even spread over their time gives it.
  odanon.inBins = (data) => {
    if (!data.spans) return data;
    const columns = Object.entries(data.flows);
    const parts = Object.fromEntries(columns.map(([name]) => [name, []]));
    const passed = [0];
    for (const long of data.seconds) passed.push(passed.at(-1) + long);
    const spread = new Set(["trips", "spread"]);
    data.flows.bin.forEach((first, i) => {
      const until = data.flows.until[i];
      for (let bin = first; bin < until; bin++) {
        const share = data.seconds[bin] / (passed[until] - passed[first]);
        for (const [name, column] of columns) parts[name].push(spread.has(name) ? column[i] * share : column[i]);
        parts.bin[parts.bin.length - 1] = bin;
      }
    });
    return { ...data, flows: parts };
  };

  // Sums of trips over the flows. A view is {side, zone, bin, segment}: side "origin" or "destination", -1 for all.
  odanon.readFlows = (flows, zones) => {
    const around = odanon.around(zones);
    const rest = flows.rest || flows.trips.map(() => 0);
    const spread = flows.spread || flows.trips;
    const span = flows.span || []; // the time of the row that a part is of
    const near = { origin: flows.o, destination: flows.d };
    const far = { origin: flows.d, destination: flows.o };
    const sumBy = (view, keyOf, partnerOf) => {
      const sums = new Map();
      for (let i = 0; i < flows.trips.length; i++) {
        if ((view.bin >= 0 && flows.bin[i] !== view.bin) || (view.segment >= 0 && flows.segment[i] !== view.segment))
          continue;
        const key = keyOf(i);
        if (key < 0) continue;
        if (!sums.has(key))
          sums.set(key, {
            key,
            trips: 0,
            coarse: 0,
            spread: 0,
            bands: [Infinity, -1],
            partners: new Set(),
            spans: new Set(),
          });
        const row = sums.get(key);
        row.trips += flows.trips[i];
        row.coarse += rest[i] * flows.trips[i];
        row.spread += spread[i];
        row.bands[0] = Math.min(row.bands[0], flows.band[i]);
        row.bands[1] = Math.max(row.bands[1], flows.band[i]);
        row.partners.add(partnerOf(i));
        if (span.length) row.spans.add(span[i]);
      }
      return [...sums.values()]
        .sort((a, b) => b.trips - a.trips || a.key - b.key)
        .map((row, rank) => ({ ...row, rank, zone: row.key, partners: row.partners.size }));
    };
    const remembered = new Map();
    const areas = (view) => {
      const key = [view.side, view.bin, view.segment].join();
      if (!remembered.has(key)) {
        const rows = sumBy(
          view,
          (i) => near[view.side][i],
          (i) => far[view.side][i],
        );
        remembered.set(key, { rows, byZone: new Map(rows.map((row) => [row.zone, row])) });
      }
      return remembered.get(key);
    };
    const partners = (view) =>
      sumBy(
        view,
        (i) => (near[view.side][i] === view.zone ? far[view.side][i] : -1),
        (i) => flows.bin[i],
      );
    const pairs = (view) => {
      const key = ["pairs", view.bin, view.segment].join();
      if (!remembered.has(key)) {
        const rows = sumBy(
          view,
          (i) => flows.o[i] * zones.length + flows.d[i],
          (i) => flows.bin[i],
        );
        const ends = ({ key: pair }) => ({ origin: Math.floor(pair / zones.length), destination: pair % zones.length });
        remembered.set(
          key,
          rows.map((row) => ({ ...row, ...ends(row) })),
        );
      }
      return remembered.get(key);
    };
    const fine = (row) => row.coarse < row.trips; // a line into the middle of a rest would tell what nobody knows
    return {
      around,
      hasRests: rest.includes(1),
      // One row per area of the side.
      areas: (view) => areas(view).rows,
      trips: (view, zone) => (areas(view).byZone.get(zone) || { trips: 0 }).trips,
      // One row per area at the other end of the view's zone.
      partners,
      // One row per origin and destination.
      pairs,
      // The largest flows of the view's zone, or of all, as lines between zones.
      lines: (view, most) => {
        if (view.zone < 0) {
          const between = pairs(view).filter((pair) => fine(pair) && pair.origin !== pair.destination);
          return between.slice(0, most).map((pair) => ({ from: pair.origin, to: pair.destination, trips: pair.trips }));
        }
        const outward = view.side === "origin";
        return partners(view)
          .filter(fine)
          .slice(0, most)
          .map(({ zone, trips }) => ({ from: outward ? view.zone : zone, to: outward ? zone : view.zone, trips }));
      },
      // What colours show of rows: trips of the area itself, or trips per km² at its place: there, what larger areas around it hold
      // counts as well, and of a rest what it leaves to finer rows does not.
      values: (rows, measure) => {
        if (measure === "trips") return new Map(rows.map((row) => [row.zone, row.trips]));
        const density = new Map(rows.map((row) => [row.zone, row.spread / zones[row.zone].km2]));
        const at = ({ zone }) =>
          around[zone].reduce((sum, outer) => sum + (density.get(outer) || 0), density.get(zone));
        return new Map(rows.map((row) => [row.zone, Math.max(0, at(row))]));
      },
      // Rests lie in very large areas; a map begins with this box, where nearly all trips start and end. Null where nothing is drawn.
      crowded: () => {
        const ends = new Map();
        flows.trips.forEach((trips, i) => {
          for (const end of [flows.o[i], flows.d[i]]) ends.set(end, (ends.get(end) || 0) + trips);
        });
        const bySize = zones.filter((zone) => ends.has(zone.index) && zone.rings.length).sort((p, q) => p.km2 - q.km2);
        let left = 0.9 * bySize.reduce((all, zone) => all + ends.get(zone.index), 0);
        const held = bySize.filter((zone) => left > 0 && ((left -= ends.get(zone.index)), true));
        return held.length ? odanon.boxAround(held) : null;
      },
      // The area that stands for the view's zone: itself where it has flows; else, because each bin has its own
      // areas, the smallest one around it, or the busiest one inside it; -1 where nothing is published.
      standIn: (view) => {
        const { rows, byZone } = areas(view);
        if (view.zone < 0 || byZone.has(view.zone)) return view.zone;
        const larger = around[view.zone].find((zone) => byZone.has(zone));
        if (larger !== undefined) return larger;
        const inner = rows.find((row) => around[row.zone].includes(view.zone));
        return inner ? inner.zone : -1;
      },
      // Trips between two areas as a reader estimates them in a bin with other areas: every flow spreads evenly over its
      // tiles, so an area inside a larger one gets its share of them (000 section 4.3 and appendix H); and every rest over what
      // no finer row holds, which `spread` says of each row.
      between: (view, origin, destination) => {
        const share = (zone, asked) => {
          if (zone === asked || around[zone].includes(asked)) return 1;
          return around[asked].includes(zone) ? zones[asked].tiles / zones[zone].tiles : 0;
        };
        let sum = 0;
        for (let i = 0; i < flows.trips.length; i++) {
          if ((view.bin >= 0 && flows.bin[i] !== view.bin) || (view.segment >= 0 && flows.segment[i] !== view.segment))
            continue;
          const from = share(flows.o[i], origin);
          if (from) sum += spread[i] * from * share(flows.d[i], destination);
        }
        return Math.max(0, sum);
      },
    };
  };
})();
