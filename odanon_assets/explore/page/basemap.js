"use strict";
// An optional base map of raster tiles (Web Mercator) below the areas; each tile is placed on the plane of the map by its corners.
(() => {
  const most = 400; // tiles that are kept

  // told: {tiles, min_zoom, max_zoom, attribution}; redraw() is called when a tile has come.
  odanon.basemap = (told, redraw) => {
    const kept = new Map();
    const tile = (z, x, y) => {
      const name = `${z}/${x}/${y}`;
      let found = kept.get(name);
      if (!found) {
        const image = new Image();
        found = { image, ready: false };
        image.addEventListener("load", () => {
          found.ready = true;
          redraw();
        });
        image.src = told.tiles.replace("{z}", z).replace("{x}", x).replace("{y}", y);
        kept.set(name, found);
        if (kept.size > most) kept.delete(kept.keys().next().value);
      }
      return found;
    };
    const column = (lon, z) => ((lon + 180) / 360) * 2 ** z;
    const line = (lat, z) => {
      const angle = (Math.max(-85.05, Math.min(85.05, lat)) * Math.PI) / 180;
      return ((1 - Math.asinh(Math.tan(angle)) / Math.PI) / 2) * 2 ** z;
    };
    const lonOf = (x, z) => (x / 2 ** z) * 360 - 180;
    const latOf = (y, z) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / 2 ** z))) * 180) / Math.PI;

    return (paint, plane, view, size) => {
      const [west, north] = plane.from(-view.x / view.scale, -view.y / view.scale);
      const [east, south] = plane.from((size.width - view.x) / view.scale, (size.height - view.y) / view.scale);
      const wanted = Math.log2((360 * size.width) / (256 * Math.max(1e-9, east - west)));
      const z = Math.max(told.min_zoom, Math.min(told.max_zoom, Math.round(wanted)));
      const within = (value) => Math.max(0, Math.min(2 ** z - 1, Math.floor(value)));
      for (let x = within(column(west, z)); x <= within(column(east, z)); x++) {
        for (let y = within(line(north, z)); y <= within(line(south, z)); y++) {
          const { image, ready } = tile(z, x, y);
          if (!ready) continue;
          const [left, top] = plane.to(lonOf(x, z), latOf(y, z)).map((value) => value * view.scale);
          const [right, bottom] = plane.to(lonOf(x + 1, z), latOf(y + 1, z)).map((value) => value * view.scale);
          paint.drawImage(image, left + view.x, top + view.y, right - left + 0.5, bottom - top + 0.5);
        }
      }
    };
  };
})();
