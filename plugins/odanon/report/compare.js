"use strict";
// The comparison report: trade-off plots, sizes of areas and one map per algorithm that share the place pressed.
(() => {
  const { el, byId, number, axisNumber, percent } = odanon;
  const data = JSON.parse(byId("data").textContent);
  const names = [...new Set(data.runs.map((run) => run.algorithm))];
  const look = new Map(names.map((name, i) => [name, odanon.look(i)]));
  const series = (x) =>
    names
      .map((name) => ({
        name,
        ...look.get(name),
        points: data.runs
          .filter((run) => run.algorithm === name && run.Gbar && x(run) !== null)
          .map((run) => [x(run), run.Gbar, [`k = ${run.k}`]]),
      }))
      .filter((s) => s.points.length);
  const plot = (host, name, title, x, formatX, options) => {
    const shown = series(x);
    if (!shown.length) {
      byId(host).append(el("p", { class: "note" }, "Nothing to draw: no run that was verified has these figures."));
      return;
    }
    odanon.lines(byId(host), {
      name,
      x: title,
      y: "tiles per trip",
      series: shown,
      formatX,
      formatY: axisNumber,
      ...options,
    });
  };
  byId("tradeoff-key").append(odanon.key(series((run) => run.k)));
  plot("gbar-e", "Tiles per trip against loss", "reconstruction loss E", (run) => run.E, number, {});
  plot("gbar-s", "Tiles per trip against trips in no flow", "trips in no flow", (run) => run.in_no_flow, percent, {});
  plot("gbar-k", "Tiles per trip against k", "k", (run) => run.k, number, { joined: true });
  plot("gbar-cpu", "Tiles per trip against CPU seconds", "CPU seconds", (run) => Math.max(run.cpu_s, 0.001), number, {
    logX: true,
  });

  // --- sizes of areas ---
  const edges = data.sizes.length ? data.sizes[0].origin.map((_, i) => 2 ** i) : [];
  const labels = edges.map((edge, i) =>
    i + 1 < edges.length && edge > 1 ? `${axisNumber(edge)}–${axisNumber(2 * edge - 1)}` : axisNumber(edge),
  );
  byId("sizes-section").hidden = !data.sizes.length;
  for (const release of data.sizes) {
    const host = el("div", { class: "plot" });
    byId("sizes").append(el("figure", {}, el("figcaption", {}, el("strong", {}, release.algorithm)), host));
    const bars = [
      { name: "origins", class: "fill-origin", values: release.origin },
      { name: "destinations", class: "fill-destination", values: release.destination },
    ];
    odanon.bars(host).show({
      name: `Share of trips by size of area, ${release.algorithm}`,
      x: "tiles in the area",
      labels,
      series: bars,
      format: percent,
      tip: (i) => [`${labels[i]} tiles`, ...bars.map((s) => `${s.name}: ${percent(s.values[i])} of the trips`)],
    });
  }

  // --- maps ---
  // What the page draws of a release, where that is not all of it.
  const drawn = (release) => {
    const { flows, areas } = release.published;
    const fewer =
      release.areas.length < areas ? `, ${number(areas)} areas drawn as ${number(release.areas.length)}` : "";
    const part = release.share < 1 ? `, the largest drawn, with ${percent(release.share)} of the trips` : "";
    return `${number(flows)} flows${fewer}${part}`;
  };
  const legend = byId("maps-legend");
  const maps = data.maps.map((release) => {
    const column = (name) => release.areas.map((i) => data.areas[name][i]);
    const columns = { id: column("id"), tiles: column("tiles"), km2: column("km2"), rings: column("rings"), level: [] };
    const zones = odanon.readZones(columns, data.extent);
    const host = el("div", { class: "map small pickable" });
    const caption = el("figcaption", {}, el("strong", {}, release.algorithm), drawn(release));
    byId("maps").append(el("figure", {}, caption, host));
    const around = odanon.around(zones);
    const flows = { spread: release.flows.trips, ...release.flows };
    const out = new Map(
      release.from.area.map((zone, i) => [zone, { trips: release.from.trips[i], spread: release.from.spread[i] }]),
    );
    let shown = new Map();
    const map = odanon.map(host, zones, {
      view: odanon.plane(data.extent).box,
      legend,
      hover: (under, event) => {
        const zone = under.find((i) => shown.has(i));
        if (zone === undefined || !event) {
          odanon.tip.hide();
          return;
        }
        odanon.tip.show(
          [
            zones[zone].id,
            `${number(shown.get(zone).trips)} trips`,
            `${number(zones[zone].tiles)} tiles, ${number(zones[zone].km2)} km²`,
          ],
          event.clientX,
          event.clientY,
        );
      },
      pick: (under) => {
        const zone = under.find((i) => out.has(i));
        if (zone !== undefined) showAll(zones[zone]);
      },
    });
    return {
      map,
      zones,
      origins: () => ({ values: out, chosen: -1, lines: [] }),
      // The flows of the smallest origin area around a place of the shared plane, with its share of those of larger ones.
      from: (place) => {
        const here = zones
          .filter((zone) => out.has(zone.index) && odanon.inside(zone, place.x, place.y))
          .sort((a, b) => a.km2 - b.km2);
        if (!here.length) return { values: new Map(), chosen: -1, lines: [] };
        const origin = here[0].index;
        const share = (zone) => (zone === origin ? 1 : zones[origin].tiles / zones[zone].tiles);
        const values = new Map();
        flows.o.forEach((zone, i) => {
          if (zone !== origin && !around[origin].includes(zone)) return;
          const row = values.get(flows.d[i]) || { trips: 0, spread: 0 };
          row.trips += share(zone) * flows.trips[i];
          row.spread += share(zone) * flows.spread[i];
          values.set(flows.d[i], row);
        });
        const lines = [...values]
          .sort((a, b) => b[1].trips - a[1].trips)
          .slice(0, 25)
          .map(([zone, { trips }]) => ({ from: origin, to: zone, trips }));
        return { values, chosen: origin, lines };
      },
      // At the place of an area, what larger areas around it hold counts as well.
      density: (values) => {
        const own = (zone) => (values.has(zone) ? values.get(zone).spread / zones[zone].km2 : 0);
        const at = (zone) => around[zone].reduce((all, outer) => all + own(outer), own(zone));
        return new Map([...values.keys()].map((zone) => [zone, Math.max(0, at(zone))]));
      },
      show: ({ values, chosen, lines }, density, classes) => {
        shown = values;
        const fills = new Map([...density].map(([zone, value]) => [zone, classes.of(value)]));
        map.show({ fills, lines, chosen, asked: chosen });
      },
    };
  });
  // Class limits for all maps together; where densities are too far apart for round steps, limits that as many areas lie between.
  const limits = (values) => {
    const sorted = Float64Array.from(values.filter((value) => value > 0 && Number.isFinite(value))).sort();
    const round = odanon.breaks(sorted);
    if (round.length || !sorted.length || sorted[0] === sorted.at(-1)) return round;
    const at = (i) => Number(sorted[Math.floor((i * sorted.length) / 7)].toPrecision(1));
    return [...new Set([1, 2, 3, 4, 5, 6].map(at))];
  };
  const showEvery = (title, ramp, layerOf) => {
    const layers = maps.map(layerOf);
    const densities = maps.map((each, i) => each.density(layers[i].values));
    const classes = odanon.classes(limits(densities.flatMap((each) => [...each.values()])), odanon.ramp(ramp));
    maps.forEach((each, i) => each.show(layers[i], densities[i], classes));
    maps[0].map.legend(title, classes, "none, too few, or not drawn");
  };

  // --- one flow through time ---
  const profiles = data.profiles;
  byId("profile-section").hidden = !profiles.bins.length;
  const profilePlots = profiles.bins.length
    ? profiles.algorithms.map((name) => {
        const host = el("div", { class: "plot" });
        const caption = el("figcaption", {}, el("strong", {}, name));
        byId("profiles").append(el("figure", {}, caption, host));
        const bars = odanon.bars(host);
        return (flow) => {
          const rows = [
            { name: "original", class: "fill-plain", values: flow.original },
            { name: "read back", class: "fill-destination", values: flow[name] },
          ];
          bars.show({
            name: `Trips by time bin, ${name}`,
            x: "time bin",
            labels: profiles.bins,
            series: rows,
            format: axisNumber,
            tip: (i) => [profiles.bins[i], ...rows.map((row) => `${row.name}: ${number(row.values[i])}`)],
          });
        };
      })
    : [];
  const showProfile = () => profilePlots.forEach((show) => show(profiles.flows[Number(byId("profile-flow").value)]));
  byId("profile-flow").append(
    ...profiles.flows.map((flow, i) => el("option", { value: i }, `${i + 1}: ${flow.o} → ${flow.d}`)),
  );
  byId("profile-flow").addEventListener("change", showProfile);
  if (profilePlots.length) showProfile();

  const showAll = (place) => {
    byId("maps-text").textContent =
      "Where the trips from the place you pressed go: each map shows the origin area that holds it and its destinations.";
    showEvery("Destinations, trips per km²", "destination", (map) => map.from(place));
  };
  const reset = () => {
    byId("maps-text").textContent =
      "Origins shaded by trips per km², alike in all maps. Press a place to see where its trips go, in every map.";
    showEvery("Departures, trips per km²", "origin", (map) => map.origins());
  };
  byId("clear").hidden = !maps.length;
  legend.hidden = !maps.length;
  if (!maps.length) {
    byId("maps-text").textContent = data.extent
      ? "Nothing to draw: no run at this k has a flow."
      : "Nobody knows where the tiles lie; --zones says so, and there will be maps.";
    return;
  }
  byId("clear").addEventListener("click", reset);
  reset();
  const asked = new URLSearchParams(location.hash.slice(1)).get("origin");
  const first = maps.flatMap((map) => map.zones).find((zone) => zone.id === asked);
  if (first) showAll(first);
})();
