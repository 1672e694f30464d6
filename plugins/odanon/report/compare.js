"use strict";
// The comparison report: trade-off plots, sizes of areas and one map per algorithm that share the place pressed.
(() => {
  const { el, byId, number, percent } = odanon;
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
  const plot = (host, name, title, x, formatX, options) =>
    odanon.lines(byId(host), {
      name,
      x: title,
      y: "tiles per trip",
      series: series(x),
      formatX,
      formatY: number,
      ...options,
    });
  if (data.runs.some((run) => run.Gbar)) {
    byId("tradeoff-key").append(odanon.key(series((run) => run.k)));
    plot("gbar-s", "Tiles per trip against trips in no flow", "trips in no flow", (run) => run.in_no_flow, percent, {});
    plot("gbar-k", "Tiles per trip against k", "k", (run) => run.k, number, { joined: true });
    plot("gbar-cpu", "Tiles per trip against CPU seconds", "CPU seconds", (run) => Math.max(run.cpu_s, 0.001), number, {
      logX: true,
    });
  }

  // --- sizes of areas ---
  const edges = [1];
  const largest = Math.max(1, ...data.releases.flatMap((release) => release.zones.tiles));
  while (edges.at(-1) * 2 <= largest) edges.push(edges.at(-1) * 2);
  const labels = edges.map((edge, i) =>
    i + 1 < edges.length && edges[i + 1] - edge > 1 ? `${number(edge)}–${number(edges[i + 1] - 1)}` : number(edge),
  );
  const shares = (release, ends) => {
    const sums = edges.map(() => 0);
    ends.forEach((zone, i) => {
      let slot = edges.length - 1;
      while (slot > 0 && release.zones.tiles[zone] < edges[slot]) slot--;
      sums[slot] += release.flows.trips[i];
    });
    const all = sums.reduce((a, b) => a + b, 0) || 1;
    return sums.map((value) => value / all);
  };
  for (const release of data.releases) {
    const host = el("div", { class: "plot" });
    byId("sizes").append(el("figure", {}, el("figcaption", {}, el("strong", {}, release.algorithm)), host));
    const bars = [
      { name: "origins", class: "fill-origin", values: shares(release, release.flows.o) },
      { name: "destinations", class: "fill-destination", values: shares(release, release.flows.d) },
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
  const maps = data.releases.map((release) => {
    const zones = odanon.readZones(release.zones, data.extent);
    const host = el("div", { class: "map small pickable" });
    byId("maps").append(
      el(
        "figure",
        {},
        el("figcaption", {}, el("strong", {}, release.algorithm), `${number(release.flows.trips.length)} flows`),
        host,
      ),
    );
    const around = odanon.around(zones);
    // Trips, and what is spread of them, by area at one end of the flows that count with a share.
    const sums = (ends, share) => {
      const found = new Map();
      ends.forEach((zone, i) => {
        const part = share(i);
        if (!part) return;
        const row = found.get(zone) || { trips: 0, spread: 0 };
        row.trips += part * release.flows.trips[i];
        row.spread += part * release.flows.spread[i];
        found.set(zone, row);
      });
      return found;
    };
    const out = sums(release.flows.o, () => 1);
    const map = odanon.map(host, zones, {
      view: odanon.plane(data.extent).box,
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
    let shown = new Map();
    const paint = (values, ramp, title, chosen, lines) => {
      shown = values;
      const own = (zone) => (values.has(zone) ? values.get(zone).spread / zones[zone].km2 : 0);
      // At the place of an area, what larger areas around it hold counts as well.
      const density = new Map(
        [...values.keys()].map((zone) => [
          zone,
          Math.max(
            0,
            around[zone].reduce((all, outer) => all + own(outer), own(zone)),
          ),
        ]),
      );
      const classes = odanon.classes(odanon.breaks([...density.values()]), odanon.ramp(ramp));
      map.show({
        fills: new Map([...density].map(([zone, value]) => [zone, classes.of(value)])),
        lines,
        chosen,
        asked: chosen,
      });
      map.legend(title, classes, "none, or too few");
    };
    return {
      zones,
      origins: () => paint(out, "origin", "Departures, trips per km²", -1, []),
      // The flows of the smallest origin area around a place of the shared plane, with its share of those of larger ones.
      from: (place) => {
        const here = zones
          .filter((zone) => out.has(zone.index) && odanon.inside(zone, place.x, place.y))
          .sort((a, b) => a.km2 - b.km2);
        if (!here.length) {
          paint(new Map(), "destination", "Nothing published from here", -1, []);
          return;
        }
        const origin = here[0].index;
        const share = (zone) => (zone === origin ? 1 : zones[origin].tiles / zones[zone].tiles);
        const to = sums(release.flows.d, (i) => {
          const from = release.flows.o[i];
          return from === origin || around[origin].includes(from) ? share(from) : 0;
        });
        const lines = [...to]
          .sort((a, b) => b[1].trips - a[1].trips)
          .slice(0, 25)
          .map(([zone, { trips }]) => ({ from: origin, to: zone, trips }));
        paint(to, "destination", "Destinations, trips per km²", origin, lines);
      },
    };
  });
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
            format: odanon.axisNumber,
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
    maps.forEach((map) => map.from(place));
  };
  const reset = () => {
    byId("maps-text").textContent =
      "Origins shaded by trips per km². Press a place to see where its trips go, in every map.";
    maps.forEach((map) => map.origins());
  };
  byId("clear").addEventListener("click", reset);
  reset();
  const asked = new URLSearchParams(location.hash.slice(1)).get("origin");
  const first = maps.flatMap((map) => map.zones).find((zone) => zone.id === asked);
  if (first) showAll(first);
})();
