"use strict";
// The published tables in memory: outlines on a local plane, flows as columns, sums over them.
(() => {
  const metresPerDegree = 111320;

  // Zones as {id, level, tiles, km2, rings, box, x, y} in metres east and south of the middle of all zones
  // (equirectangular: true to scale at the middle latitude, north up).
  odanon.readZones = (zones) => {
    const steps = 1e5;
    const rings = zones.rings.map((list) => list.map((ring) => {
      const points = Float64Array.from(ring);
      for (let i = 2; i < points.length; i++) points[i] += points[i - 2];
      return points.map((value) => value / steps);
    }));
    const extent = boxOf(rings.flat());
    const middle = { lon: (extent[0] + extent[2]) / 2, lat: (extent[1] + extent[3]) / 2 };
    const eastward = metresPerDegree * Math.cos((middle.lat * Math.PI) / 180);
    const project = (ring) => ring.map((value, i) => (
      i % 2 ? (middle.lat - value) * metresPerDegree : (value - middle.lon) * eastward));
    return zones.id.map((id, i) => {
      const plane = rings[i].map(project);
      return {
        index: i, id, level: zones.level[i], tiles: zones.tiles[i], km2: zones.km2[i],
        rings: plane, box: boxOf(plane), ...centre(plane),
      };
    });
  };

  const boxOf = (rings) => {
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    for (const ring of rings) {
      for (let i = 0; i < ring.length; i += 2) {
        box[0] = Math.min(box[0], ring[i]); box[2] = Math.max(box[2], ring[i]);
        box[1] = Math.min(box[1], ring[i + 1]); box[3] = Math.max(box[3], ring[i + 1]);
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
        area += cross; x += (ax + bx) * cross; y += (ay + by) * cross;
      }
      if (Math.abs(area) > best.size) best = { size: Math.abs(area), x: ring[0] + x / (3 * area), y: ring[1] + y / (3 * area) };
    }
    return { x: best.x, y: best.y };
  };

  // Sums of trips over the flows; `side` is "origin" or "destination", bin and segment -1 stand for all.
  odanon.readFlows = (flows) => {
    const ends = { origin: flows.o, destination: flows.d };
    const other = { origin: flows.d, destination: flows.o };
    const each = (view, visit) => {
      for (let i = 0; i < flows.trips.length; i++) {
        if ((view.bin < 0 || flows.bin[i] === view.bin) && (view.segment < 0 || flows.segment[i] === view.segment)) visit(i);
      }
    };
    const add = (sums, key, i, partner) => {
      const row = sums.get(key) || { trips: 0, bands: [Infinity, -1], partners: new Set() };
      row.trips += flows.trips[i];
      row.bands = [Math.min(row.bands[0], flows.band[i]), Math.max(row.bands[1], flows.band[i])];
      row.partners.add(partner);
      sums.set(key, row);
    };
    const list = (sums, named) => [...sums].sort((a, b) => b[1].trips - a[1].trips || a[0] - b[0])
      .map(([key, row], rank) => ({ ...named(key), rank, trips: row.trips, bands: row.bands, partners: row.partners.size }));
    return {
      // One row per area of the side.
      areas: (view) => {
        const sums = new Map();
        each(view, (i) => add(sums, ends[view.side][i], i, other[view.side][i]));
        return list(sums, (zone) => ({ zone }));
      },
      // One row per area at the other end of the chosen one.
      partners: (view) => {
        const sums = new Map();
        each(view, (i) => { if (ends[view.side][i] === view.zone) add(sums, other[view.side][i], i, flows.bin[i]); });
        return list(sums, (zone) => ({ zone }));
      },
      // One row per origin and destination.
      pairs: (view, zones) => {
        const sums = new Map();
        each(view, (i) => add(sums, flows.o[i] * zones + flows.d[i], i, flows.bin[i]));
        return list(sums, (key) => ({ origin: Math.floor(key / zones), destination: key % zones }));
      },
      perBin: (view, bins) => {
        const sums = Array(bins).fill(0);
        each({ ...view, bin: -1 }, (i) => {
          if (view.zone < 0 || ends[view.side][i] === view.zone) sums[flows.bin[i]] += flows.trips[i];
        });
        return sums;
      },
    };
  };
})();
