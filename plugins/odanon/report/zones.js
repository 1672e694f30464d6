"use strict";
// Published zones on a local plane: outlines, which lie inside which, and which lie near a place.
(() => {
  const metresPerDegree = 111320;

  // A local plane for an extent in degrees: metres east and south of its middle (equirectangular: true to scale at the middle
  // latitude, north up).
  odanon.plane = (extent) => {
    const middle = { lon: (extent[0] + extent[2]) / 2, lat: (extent[1] + extent[3]) / 2 };
    const eastward = metresPerDegree * Math.cos((middle.lat * Math.PI) / 180);
    const to = (lon, lat) => [(lon - middle.lon) * eastward, (middle.lat - lat) * metresPerDegree];
    return {
      to,
      from: (x, y) => [middle.lon + x / eastward, middle.lat - y / metresPerDegree],
      ring: (ring) => {
        const placed = new Float64Array(ring.length);
        for (let i = 0; i < ring.length; i += 2) [placed[i], placed[i + 1]] = to(ring[i], ring[i + 1]);
        return placed;
      },
      box: [...to(extent[0], extent[3]), ...to(extent[2], extent[1])],
    };
  };

  // Zones as {id, name (empty where nobody says), level, tiles, km2, rings, box, x, y} on the plane of their own extent, or of one that several maps share.
  odanon.readZones = (zones, shared) => {
    const steps = 1e5;
    const rings = zones.rings.map((list) =>
      list.map((ring) => {
        const points = Float64Array.from(ring);
        for (let i = 2; i < points.length; i++) points[i] += points[i - 2];
        return points.map((value) => value / steps);
      }),
    );
    const plane = odanon.plane(shared || odanon.boxOf(rings.flat()));
    return zones.id.map((id, i) => {
      const placed = rings[i].map(plane.ring);
      return {
        index: i,
        id,
        name: zones.name ? zones.name[i] : "",
        level: zones.level[i],
        tiles: zones.tiles[i],
        km2: zones.km2[i],
        rings: placed,
        box: odanon.boxOf(placed),
        ...odanon.centre(placed),
      };
    });
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

  odanon.boxOf = (rings) => {
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

  odanon.boxAround = (zones) =>
    zones.reduce(
      (box, zone) => box.map((side, i) => (i < 2 ? Math.min : Math.max)(side, zone.box[i])),
      [Infinity, Infinity, -Infinity, -Infinity],
    );

  // The centroid of the largest ring, null for a zone without an outline.
  odanon.centre = (rings) => {
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

  // Which zones lie near a place: a grid over all of them, each cell with those whose boxes touch it, in the order given.
  odanon.grid = (zones, box) => {
    const side = Math.max(1, Math.min(128, Math.round(Math.sqrt(zones.length / 2))));
    const column = (x) => Math.max(0, Math.min(side - 1, Math.floor(((x - box[0]) / (box[2] - box[0] || 1)) * side)));
    const line = (y) => Math.max(0, Math.min(side - 1, Math.floor(((y - box[1]) / (box[3] - box[1] || 1)) * side)));
    const cells = Array.from({ length: side * side }, () => []);
    const touched = (b, act) => {
      const [left, right, bottom] = [column(b[0]), column(b[2]), line(b[3])];
      for (let y = line(b[1]); y <= bottom; y++) for (let x = left; x <= right; x++) act(cells[y * side + x]);
    };
    zones.forEach((zone, rank) => touched(zone.box, (cell) => cell.push(rank)));
    return {
      at: (x, y) => cells[line(y) * side + column(x)].map((rank) => zones[rank]),
      within: (b) => {
        const met = new Uint8Array(zones.length);
        touched(b, (cell) => cell.forEach((rank) => (met[rank] = 1)));
        return zones.filter(
          (zone, rank) =>
            met[rank] && zone.box[0] < b[2] && zone.box[2] > b[0] && zone.box[1] < b[3] && zone.box[3] > b[1],
        );
      },
    };
  };
})();
