"use strict";
// The published tables in memory: outlines on a local plane, flows as columns, sums over them.
(() => {
  const metresPerDegree = 111320;

  // Zones as {id, level, tiles, km2, rings, box, x, y} in metres east and south of the middle of all zones
  // (equirectangular: true to scale at the middle latitude, north up), or of a given extent in degrees that several maps share.
  odanon.readZones = (zones, shared) => {
    const steps = 1e5;
    const rings = zones.rings.map((list) =>
      list.map((ring) => {
        const points = Float64Array.from(ring);
        for (let i = 2; i < points.length; i++) points[i] += points[i - 2];
        return points.map((value) => value / steps);
      }),
    );
    const extent = shared || boxOf(rings.flat());
    const middle = { lon: (extent[0] + extent[2]) / 2, lat: (extent[1] + extent[3]) / 2 };
    const eastward = metresPerDegree * Math.cos((middle.lat * Math.PI) / 180);
    const project = (ring) =>
      ring.map((value, i) => (i % 2 ? (middle.lat - value) * metresPerDegree : (value - middle.lon) * eastward));
    return zones.id.map((id, i) => {
      const plane = rings[i].map(project);
      return {
        index: i,
        id,
        level: zones.level[i],
        tiles: zones.tiles[i],
        km2: zones.km2[i],
        rings: plane,
        box: boxOf(plane),
        ...centre(plane),
      };
    });
  };

  // A given extent in degrees as a box of the plane that `readZones` makes with it.
  odanon.planeBox = (extent) => {
    const [width, height] = [extent[2] - extent[0], extent[3] - extent[1]];
    const x = (width / 2) * metresPerDegree * Math.cos((((extent[1] + extent[3]) / 2) * Math.PI) / 180);
    const y = (height / 2) * metresPerDegree;
    return [-x, -y, x, y];
  };

  odanon.inside = (zone, x, y) => {
    const box = zone.box;
    if (x < box[0] || x > box[2] || y < box[1] || y > box[3]) return false;
    let odd = false;
    for (const ring of zone.rings) {
      for (let i = 0, j = ring.length - 2; i < ring.length; j = i, i += 2) {
        if (
          ring[i + 1] > y !== ring[j + 1] > y &&
          x < ((ring[j] - ring[i]) * (y - ring[i + 1])) / (ring[j + 1] - ring[i + 1]) + ring[i]
        )
          odd = !odd;
      }
    }
    return odd;
  };

  // For each zone, the larger zones around its middle, smallest first. Middles are sorted from west to east, so
  // that each zone looks only at those within its width.
  odanon.around = (zones) => {
    const placed = zones.filter((zone) => zone.x !== null);
    const eastward = [...placed].sort((a, b) => a.x - b.x);
    const firstFrom = (x) => {
      let [low, high] = [0, eastward.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (eastward[middle].x < x) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    const result = zones.map(() => []);
    for (const outer of placed.sort((a, b) => a.km2 - b.km2 || a.index - b.index)) {
      for (let i = firstFrom(outer.box[0]); i < eastward.length && eastward[i].x <= outer.box[2]; i++) {
        const zone = eastward[i];
        if (zone.km2 < outer.km2 && odanon.inside(outer, zone.x, zone.y)) result[zone.index].push(outer.index);
      }
    }
    return result;
  };

  const boxOf = (rings) => {
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    for (const ring of rings) {
      for (let i = 0; i < ring.length; i += 2) {
        box[0] = Math.min(box[0], ring[i]);
        box[2] = Math.max(box[2], ring[i]);
        box[1] = Math.min(box[1], ring[i + 1]);
        box[3] = Math.max(box[3], ring[i + 1]);
      }
    }
    return box;
  };

  // The centroid of the largest ring, null for a zone without an outline.
  const centre = (rings) => {
    let best = { size: 0, x: null, y: null };
    for (const ring of rings) {
      let [area, x, y] = [0, 0, 0];
      for (let i = 0; i < ring.length; i += 2) {
        const j = (i + 2) % ring.length;
        const [ax, ay] = [ring[i] - ring[0], ring[i + 1] - ring[1]];
        const [bx, by] = [ring[j] - ring[0], ring[j + 1] - ring[1]];
        const cross = ax * by - bx * ay;
        area += cross;
        x += (ax + bx) * cross;
        y += (ay + by) * cross;
      }
      if (Math.abs(area) > best.size)
        best = { size: Math.abs(area), x: ring[0] + x / (3 * area), y: ring[1] + y / (3 * area) };
    }
    return { x: best.x, y: best.y };
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
    return {
      around,
      hasRests: rest.includes(1),
      // One row per area of the side.
      areas: (view) => areas(view).rows,
      trips: (view, zone) => (areas(view).byZone.get(zone) || { trips: 0 }).trips,
      // One row per area at the other end of the view's zone.
      partners: (view) =>
        sumBy(
          view,
          (i) => (near[view.side][i] === view.zone ? far[view.side][i] : -1),
          (i) => flows.bin[i],
        ),
      // One row per origin and destination.
      pairs: (view) =>
        sumBy(
          view,
          (i) => flows.o[i] * zones.length + flows.d[i],
          (i) => flows.bin[i],
        ).map((row) => ({ ...row, origin: Math.floor(row.key / zones.length), destination: row.key % zones.length })),
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
