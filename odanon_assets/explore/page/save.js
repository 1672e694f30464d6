"use strict";
// Downloads of what is shown: matrix and profile as CSV, areas as GeoJSON, the map as PNG.
(() => {
  const { byId, el, state } = odanon;

  const save = (name, blob) => {
    const address = URL.createObjectURL(blob);
    const link = el("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };
  // A spreadsheet takes text that begins like a formula for one.
  const field = (value) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = (name, head, rows) =>
    save(name, new Blob([`${[head, ...rows].map((row) => row.map(field).join()).join("\n")}\n`], { type: "text/csv" }));
  const fileName = (what, end) => `${state.product}-${what}.${end}`.replace(/[^\w.-]+/g, "_");
  const bounds = ["low", "estimate", "high"];
  const digits = (value) => (typeof value === "number" ? Number(value.toFixed(4)) : value);
  const columns = (mark) => bounds.map((name) => `${mark}${name}`);
  const values = (cell) => bounds.map((name) => digits(cell[name]));

  odanon.save = {
    matrix: () => {
      const matrix = odanon.matrix.shown();
      if (!matrix) return;
      const head = ["origin", "destination"];
      const mark = matrix.by ? "per_day_" : "";
      const compared = ["first_", "second_", "difference_"].map((name) => name + mark);
      head.push(...(state.b ? compared.flatMap(columns) : [...columns(""), "exact"]));
      const rows = state.areas.flatMap((origin, i) =>
        state.areas.map((destination, j) => {
          const { first, second, difference } = matrix.cell(i, j);
          const told = second ? [first, second, difference].flatMap(values) : [...values(first), digits(first.exact)];
          return [origin.name, destination.name, ...told];
        }),
      );
      csv(fileName("matrix", "csv"), head, rows);
    },
    profile: () => {
      const lists = odanon.profile.shown();
      if (!lists) return;
      const [origin, destination] = state.pair.map((i) => state.areas[i].name);
      const head = ["period", "origin", "destination", "start", "end", ...columns(""), "exact", "spread_over_hours"];
      const rows = lists.flatMap(({ name, steps }) =>
        steps.map((step) => [
          name,
          origin,
          destination,
          step.start,
          step.end,
          ...values(step),
          digits(step.exact),
          digits(step.spread_over_hours),
        ]),
      );
      csv(fileName("profile", "csv"), head, rows);
    },
    areas: () => {
      const text = JSON.stringify(odanon.shapes.collection(state.areas), null, 1);
      save(fileName("areas", "geojson"), new Blob([text], { type: "application/geo+json" }));
    },
    // The map as it is, on its ground, with title, legend and source below.
    map: (map, title, source) => {
      const ratio = devicePixelRatio || 1;
      if (!odanon.published.data()) return;
      const [width, height] = [map.canvas.width, map.canvas.height];
      const items = [...document.querySelectorAll("#map .legend li")];
      const lines = Math.ceil(items.length / 4);
      const foot = (58 + 22 * lines) * ratio;
      const picture = el("canvas", {});
      picture.width = width;
      picture.height = height + foot;
      const pen = picture.getContext("2d");
      pen.fillStyle = odanon.css("--sea");
      pen.fillRect(0, 0, width, height);
      pen.drawImage(map.canvas, 0, 0);
      pen.fillStyle = odanon.css("--paper");
      pen.fillRect(0, height, width, foot);
      const write = (text, x, y, colour, weight) => {
        pen.font = `${weight} 13px system-ui, sans-serif`;
        pen.fillStyle = odanon.css(colour);
        pen.fillText(text, x, y, width / ratio - x - 12);
      };
      pen.setTransform(ratio, 0, 0, ratio, 0, height);
      write(`${title}: ${document.querySelector("#map .legend strong").textContent}`, 14, 22, "--ink", 600);
      items.forEach((item, i) => {
        const [x, y] = [14 + (i % 4) * ((width / ratio - 28) / 4), 44 + 22 * Math.floor(i / 4)];
        const style = getComputedStyle(item.querySelector("i"));
        pen.fillStyle = style.backgroundColor;
        pen.fillRect(x, y - 11, 22, 14);
        if (style.backgroundImage !== "none") {
          pen.fillStyle = odanon.stripes(pen, odanon.css("--map-stripe"), 1);
          pen.fillRect(x, y - 11, 22, 14);
        }
        write(item.textContent, x + 28, y, "--ink", 400);
      });
      write(source, 14, 44 + 22 * lines, "--soft", 400);
      picture.toBlob((blob) => save(fileName("map", "png"), blob), "image/png");
    },
  };
  byId("matrix-csv").addEventListener("click", odanon.save.matrix);
  byId("profile-csv").addEventListener("click", odanon.save.profile);
  byId("areas-geojson").addEventListener("click", odanon.save.areas);
})();
