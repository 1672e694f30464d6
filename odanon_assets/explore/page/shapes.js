"use strict";
// Own areas as shapes: {name, polygons}, polygons of rings of [longitude, latitude]; to and from GeoJSON, and short enough for a link.
(() => {
  const steps = 1e5; // corners that are drawn lie on hundred-thousandths of a degree, about a metre

  const crosses = (a, b, c, d) => {
    const side = (p, q, r) => Math.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]));
    return side(a, b, c) !== side(a, b, d) && side(c, d, a) !== side(c, d, b);
  };
  const flat = (ring) => Float64Array.from(ring.flat());

  // A ring whose corners lie on steps becomes differences of whole numbers; others stay as they are, to the last digit.
  const packRing = (ring) => {
    const whole = ring.map((point) => point.map((value) => Math.round(value * steps)));
    if (!ring.every((point, i) => point.every((value, j) => whole[i][j] / steps === value))) return { at: ring };
    return whole
      .slice(0, -1)
      .flatMap((point, i) => (i ? [point[0] - whole[i - 1][0], point[1] - whole[i - 1][1]] : point));
  };
  const unpackRing = (packed) => {
    if (!Array.isArray(packed)) return packed.at.map(([lon, lat]) => [Number(lon), Number(lat)]);
    const ring = [];
    let [lon, lat] = [0, 0];
    for (let i = 0; i < packed.length; i += 2) {
      [lon, lat] = [lon + packed[i], lat + packed[i + 1]];
      ring.push([lon / steps, lat / steps]);
    }
    return [...ring, ring[0]];
  };
  const through = async (bytes, stream) => {
    const piped = new Blob([bytes]).stream().pipeThrough(stream);
    return new Uint8Array(await new Response(piped).arrayBuffer());
  };

  odanon.shapes = {
    onStep: (value) => Math.round(value * steps) / steps,
    // What is wrong with corners as an outline, or null.
    wrong: (corners) => {
      if (corners.length < 3) return "An area needs at least three corners.";
      for (let i = 0; i < corners.length; i++) {
        for (let j = i + 2; j < corners.length; j++) {
          if (i === 0 && j === corners.length - 1) continue;
          if (crosses(corners[i], corners[i + 1], corners[j], corners[(j + 1) % corners.length]))
            return "The outline crosses itself; move or remove a corner.";
        }
      }
      const [left, low, right, high] = odanon.boxOf([flat(corners)]);
      return right > left && high > low ? null : "The area has no extent; draw it larger.";
    },
    fromCorners: (name, corners) => ({ name, polygons: [[[...corners, corners[0]]]] }),
    // The corners of an area that is a single ring, which can be edited by hand; null for others.
    corners: (area) =>
      area.polygons.length === 1 && area.polygons[0].length === 1 && area.polygons[0][0].length < 200
        ? area.polygons[0][0].slice(0, -1)
        : null,
    geometry: (area) =>
      area.polygons.length === 1
        ? { type: "Polygon", coordinates: area.polygons[0] }
        : { type: "MultiPolygon", coordinates: area.polygons },
    fromFeature: ({ properties, geometry }) => ({
      name: String((properties && properties.name) || "Area"),
      polygons: (geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates).map((polygon) =>
        polygon.map((ring) => ring.map(([lon, lat]) => [lon, lat])),
      ),
    }),
    collection: (areas) => ({
      type: "FeatureCollection",
      features: areas.map((area) => ({
        type: "Feature",
        properties: { name: area.name },
        geometry: odanon.shapes.geometry(area),
      })),
    }),
    // Rings on a plane, as published zones have them.
    rings: (area, plane) => area.polygons.flat().map((ring) => plane.ring(flat(ring.slice(0, -1)))),

    pack: async (areas) => {
      const told = areas.map((area) => [area.name, area.polygons.map((polygon) => polygon.map(packRing))]);
      const bytes = await through(new TextEncoder().encode(JSON.stringify(told)), new CompressionStream("deflate-raw"));
      let text = "";
      for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
      return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    },
    unpack: async (text) => {
      const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.codePointAt(0));
      const told = JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
      return told.map(([name, polygons]) => ({
        name: String(name),
        polygons: polygons.map((polygon) => polygon.map(unpackRing)),
      }));
    },
  };
})();
