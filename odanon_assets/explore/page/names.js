"use strict";
// Names of places: on the map where there is room for them, and a field that finds an area by its name.
(() => {
  const { byId, el } = odanon;
  const most = { found: 12, labels: 80 };
  const font = "500 12px system-ui, sans-serif";
  const height = 16;

  // --- finding ---
  const plain = (text) =>
    text
      .normalize("NFD")
      .replace(/\p{M}/gu, "")
      .toLowerCase()
      .trim();
  let places = []; // {zone, label, name, id}
  const load = ({ zones }) => {
    const times = new Map();
    zones.forEach((zone) => times.set(zone.name, (times.get(zone.name) || 0) + 1));
    places = zones
      .filter((zone) => zone.name)
      .map((zone) => ({
        zone,
        label: times.get(zone.name) > 1 ? odanon.fullName(zone) : zone.name,
        name: plain(zone.name),
        id: plain(zone.id),
      }));
    byId("find-choice").hidden = !places.length;
    byId("find").value = "";
    byId("places").replaceChildren();
  };
  // Names that begin as asked come first, then those of small areas.
  const search = (text) => {
    const asked = plain(text);
    if (!asked) return [];
    const rank = (place) => (place.name.startsWith(asked) ? 0 : 1);
    return places
      .filter((place) => place.name.includes(asked) || place.id === asked)
      .sort((a, b) => rank(a) - rank(b) || a.zone.km2 - b.zone.km2);
  };
  const exactly = (text) => places.find((place) => place.label === text.trim());
  const go = (place) => {
    byId("find").value = place.label;
    odanon.choose({ zone: place.zone.id, panel: "published" });
    odanon.ground.lookAtBox(place.zone.box, 0.3);
    odanon.say("");
  };
  const decide = () => {
    const text = byId("find").value;
    const found = exactly(text) || search(text)[0];
    if (found) go(found);
    else if (text.trim()) odanon.say(`No area that is published at this time is called “${text.trim()}”.`, true);
  };
  byId("find").addEventListener("input", () => {
    const text = byId("find").value;
    if (exactly(text)) {
      decide();
      return;
    }
    const options = search(text).slice(0, most.found);
    byId("places").replaceChildren(...options.map(({ label }) => el("option", { value: label })));
  });
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter") decide();
  });

  // --- on the map ---
  const widths = new Map();
  const widthOf = (pen, text) => {
    if (!widths.has(text)) widths.set(text, pen.measureText(text).width);
    return widths.get(text);
  };
  const meet = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];
  // Names of areas that hold them whole, the largest areas on the screen first, none over another.
  const paint = (pen, view, size, isShown) => {
    pen.font = font;
    const wide = (zone) => (zone.box[2] - zone.box[0]) * view.scale;
    const candidates = places
      .map(({ zone }) => zone)
      .filter(
        (zone) =>
          isShown(zone.index) &&
          zone.x !== null &&
          (zone.box[3] - zone.box[1]) * view.scale > height &&
          wide(zone) > 3 * zone.name.length, // no letter is narrower; measuring takes longer
      )
      .sort((a, b) => b.km2 - a.km2 || a.index - b.index);
    const taken = [];
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = 3;
    pen.strokeStyle = odanon.css("--paper");
    pen.fillStyle = odanon.css("--ink");
    for (const zone of candidates) {
      if (taken.length >= most.labels) break;
      const [x, y] = [zone.x * view.scale + view.x, zone.y * view.scale + view.y];
      if (x < 0 || y < 0 || x > size.width || y > size.height) continue;
      const half = widthOf(pen, zone.name) / 2;
      const reach = half / view.scale;
      if (!odanon.inside(zone, zone.x - reach, zone.y) || !odanon.inside(zone, zone.x + reach, zone.y)) continue;
      const box = [x - half - 3, y - height / 2, x + half + 3, y + height / 2];
      if (taken.some((other) => meet(other, box))) continue;
      taken.push(box);
      pen.strokeText(zone.name, x, y);
      pen.fillText(zone.name, x, y);
    }
    return taken.length;
  };

  odanon.names = { load, paint };
})();
