"use strict";
// The page of an advice: four plots of the same settings, coloured by one part of them.
(() => {
  const { el, byId, number, percent } = odanon;
  const data = JSON.parse(byId("data").textContent);
  const ring = (setting) => (setting.present ? "ring" : setting.edge ? "ring edge" : "");
  const words = (part, value) => (part === "k" ? `k ${value}` : part === "resolution" ? `H3 ${value}` : `${value}`);
  const series = (part, x, y) =>
    [...new Set(data.settings.map((setting) => setting[part]))].map((value, i) => ({
      name: words(part, value),
      ...odanon.look(i),
      points: data.settings
        .filter((setting) => setting[part] === value && setting[x] !== null && setting[y] > 0)
        .map((setting) => [
          setting[x],
          setting[y],
          [setting.label + (setting.kept ? "" : ", beyond its budget")],
          ring(setting),
        ]),
    }));
  const plots = [
    ["tiles-loss", "loss", "tiles", "loss", "tiles per trip", number],
    ["flows-loss", "loss", "flows", "loss", "flows", number],
    ["tiles-out", "in_no_flow", "tiles", "trips in no flow", "tiles per trip", percent],
    ["tiles-hours", "hours", "tiles", "hours", "tiles per trip", number],
  ];
  const show = (part) => {
    byId("advice-key").replaceChildren(odanon.key(series(part, "loss", "tiles")));
    for (const [id, x, y, titleX, titleY, formatX] of plots) {
      const host = el("div", { class: "plot" });
      byId(id).replaceChildren(host);
      const shown = series(part, x, y).filter((s) => s.points.length);
      odanon.lines(host, {
        name: `${titleY} against ${titleX}`,
        x: titleX,
        y: titleY,
        series: shown,
        formatX,
        formatY: odanon.axisNumber,
      });
    }
  };
  if (!data.settings.some((setting) => setting.tiles > 0)) return;
  const by = byId("by");
  by.append(...Object.entries(data.parts).map(([part, name]) => el("option", { value: part }, name)));
  by.addEventListener("change", () => show(by.value));
  show(by.value);
})();
