"use strict";
// Names of places: on the map where there is room for them, and a field that finds an area by its name.
(() => {
  const { byId, el } = odanon;
  const most = { found: 12, labels: 80, letters: 18 }; // letters: of a line on the map
  const font = "500 12px system-ui, sans-serif";
  const height = 14;

  // --- finding ---
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().trim();
  let places = []; // {zone, label, name, id}
  const load = ({ zones }) => {
    const ids = new Map();
    const named = zones.filter((zone) => zone.name);
    named.forEach(({ name, id }) => ids.set(name, (ids.get(name) || new Set()).add(id)));
    places = named.map((zone) => ({
      zone,
      label: ids.get(zone.name).size > 1 ? odanon.fullName(zone) : zone.name,
      name: plain(zone.name),
      id: plain(zone.id),
    }));
    byId("find-choice").hidden = !places.length;
    byId("table").classList.toggle("named", places.length > 0);
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
    const labels = new Set(search(text).map(({ label }) => label)); // an area may have several outlines
    const options = [...labels].slice(0, most.found).map((label) => el("option", { value: label }));
    byId("places").replaceChildren(...options);
  });
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter") decide();
  });

  // --- on the map ---
  const measured = new Map();
  // The lines of a name and half the width of each.
  const linesOf = (pen, name) => {
    if (!measured.has(name)) {
      const lines = [""];
      for (const word of name.split(" ")) {
        const longer = `${lines.at(-1)} ${word}`.trim();
        if (longer.length <= most.letters || !lines.at(-1)) lines[lines.length - 1] = longer;
        else lines.push(word);
      }
      measured.set(
        name,
        lines.map((text) => ({ text, half: pen.measureText(text).width / 2 })),
      );
    }
    return measured.get(name);
  };
  // Areas on the map whose middle is not in a smaller one that is shown, too: there, its name would stand on another area.
  let open = { of: null, zones: [] };
  const uncovered = (shown) => {
    if (open.of !== shown) {
      const zones = [...shown.keys()].map((zone) => odanon.published.data().zones[zone]);
      const small = zones.filter((zone) => zone.x !== null).sort((a, b) => a.km2 - b.km2);
      const grid = odanon.grid(small, small.length ? odanon.boxAround(small) : [0, 0, 1, 1]);
      const isTop = (zone) =>
        !grid.at(zone.x, zone.y).some((at) => at.km2 < zone.km2 && odanon.inside(at, zone.x, zone.y));
      open = { of: shown, zones: small.filter((zone) => zone.name && isTop(zone)).reverse() };
    }
    return open.zones;
  };
  const meet = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];
  // Names of areas that hold them whole, the largest areas on the screen first, none over another.
  const paint = (pen, view, size, shown) => {
    if (!places.length) return 0;
    pen.font = font;
    const candidates = uncovered(shown).filter(
      ({ box }) => (box[3] - box[1]) * view.scale > height && (box[2] - box[0]) * view.scale > height,
    );
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
      const lines = linesOf(pen, zone.name).map((line, i, all) => ({
        ...line,
        down: (i - (all.length - 1) / 2) * height,
      }));
      const holds = ({ half, down }) =>
        [-half, half].every((right) => odanon.inside(zone, zone.x + right / view.scale, zone.y + down / view.scale));
      if (!lines.every(holds)) continue;
      const [half, tall] = [Math.max(...lines.map((line) => line.half)) + 3, (lines.length * height) / 2];
      const box = [x - half, y - tall, x + half, y + tall];
      if (taken.some((other) => meet(other, box))) continue;
      taken.push(box);
      for (const { text, down } of lines) {
        pen.strokeText(text, x, y + down);
        pen.fillText(text, x, y + down);
      }
    }
    return taken.length;
  };

  odanon.names = { load, paint };
})();
