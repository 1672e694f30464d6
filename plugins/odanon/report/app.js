"use strict";
// The release report: one state (area, time bin, segment, direction, measure), shown by map, timeline and table.
(() => {
  const { el, byId, number, percent } = odanon;
  const data = JSON.parse(byId("data").textContent);
  const zones = odanon.readZones(data.zones);
  const flows = odanon.readFlows(data.flows);
  const bins = data.bins;
  const opposite = { origin: "destination", destination: "origin" };
  const words = { origin: ["departures", "origin", "from", "to"], destination: ["arrivals", "destination", "to", "from"] };
  const everything = bins.length > 1 && new Set(bins.map((bin) => bin.label.length)).size && bins.every((bin) => /^\d\d:\d\d/.test(bin.label))
    ? "All day" : "All times";
  const mostLines = 60;
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const state = { side: "origin", zone: -1, bin: -1, segment: -1, measure: "trips", lines: true, table: "areas" };

  // --- the address keeps the state, so that a view can be shared ---
  const stampOf = new Map(bins.map((bin, i) => [bin.start, i]));
  const indexOf = new Map(data.zones.id.map((id, i) => [id, i]));
  const readAddress = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    const find = (map, key) => (map.has(key) ? map.get(key) : -1);
    state.side = asked.has("destination") || asked.get("show") === "arrivals" ? "destination" : "origin";
    state.zone = find(indexOf, asked.get(state.side));
    state.bin = find(stampOf, asked.get("bin"));
    state.segment = data.segments.indexOf(asked.get("segment"));
    state.measure = asked.get("colour") === "density" ? "density" : "trips";
  };
  const writeAddress = () => {
    const address = new URLSearchParams();
    if (state.zone >= 0) address.set(state.side, zones[state.zone].id);
    else if (state.side === "destination") address.set("show", "arrivals");
    if (state.bin >= 0) address.set("bin", bins[state.bin].start);
    if (state.segment >= 0) address.set("segment", data.segments[state.segment]);
    if (state.measure === "density") address.set("colour", "density");
    // A page inside a sandboxed frame may not touch its address; the view works without.
    try { history.replaceState(null, "", address.size ? `#${address}` : location.pathname + location.search); } catch { /* keep */ }
  };

  // --- what is shown ---
  const value = (row) => (state.measure === "density" ? row.trips / zones[row.zone].km2 : row.trips);
  const band = (row) => {
    const [low, high] = row.bands;
    if (low < 0 || high < 0) return "–";
    return low === high ? data.bands[low] : `${data.bands[low]} … ${data.bands[high]}`;
  };
  const rowsOf = (view) => (view.zone < 0 ? flows.areas(view) : flows.partners(view));
  const shadedSide = () => (state.zone < 0 ? state.side : opposite[state.side]);
  // Single bins share one set of classes, so colours can be compared while stepping through the day.
  const classesOf = (rows) => {
    const all = state.bin < 0 ? rows : bins.flatMap((_, bin) => rowsOf({ ...state, bin }));
    return odanon.classes(odanon.breaks(all.map(value)), odanon.ramp(shadedSide()));
  };
  const unitWords = () => (state.measure === "density" ? "trips per km²" : "trips");
  const when = () => (state.bin < 0 ? (bins.length > 1 ? everything : bins[0].label) : bins[state.bin].label);

  let rows = [];
  let byZone = new Map();
  let classes = null;

  const describe = (index) => {
    const zone = zones[index];
    return `${odanon.count(zone.tiles, "tile", "tiles")}, ${number(zone.km2)} km²`;
  };
  const map = odanon.map(byId("map"), zones, {
    hover: (under, event) => {
      const here = under.filter((zone) => byZone.has(zone));
      map.mark(here.length ? here[0] : -1);
      byId("map").classList.toggle("pickable", clickable(under).length > 0);
      if (!here.length) { odanon.tip.hide(); return; }
      const row = byZone.get(here[0]);
      const lines = [el("bdi", {}, zones[here[0]].id), `${odanon.count(row.trips, "trip", "trips")}${state.measure === "density" ? `, ${number(value(row))} per km²` : ""}`];
      if (state.zone >= 0) lines.push(`${band(row)} people per time bin`);
      else lines.push(odanon.count(row.partners, opposite[state.side], `${opposite[state.side]}s`));
      lines.push(describe(here[0]));
      if (here.length > 1) lines.push(`inside ${odanon.count(here.length - 1, "larger area", "larger areas")} shown below it`);
      odanon.tip.show(lines, event.clientX, event.clientY);
    },
    pick: (under) => {
      const here = clickable(under);
      const next = here[(here.indexOf(state.zone) + 1) % here.length];
      choose({ zone: next === undefined || (here.length === 1 && next === state.zone) ? -1 : next });
    },
  });
  // Areas of the chosen direction at this place: a second click reaches the larger one below.
  const clickable = (under) => under.filter((zone) => areaSet.has(zone));
  let areaSet = new Set();

  const showMap = () => {
    rows = rowsOf(state);
    byZone = new Map(rows.map((row) => [row.zone, row]));
    areaSet = new Set(flows.areas(state).map((row) => row.zone));
    classes = classesOf(rows);
    let lines = [];
    if (state.lines && state.zone >= 0) {
      lines = rows.slice(0, mostLines).map((row) => (state.side === "origin"
        ? { from: state.zone, to: row.zone, trips: row.trips } : { from: row.zone, to: state.zone, trips: row.trips }));
    } else if (state.lines && state.table === "flows") {
      lines = flows.pairs(state, zones.length).filter((pair) => pair.origin !== pair.destination).slice(0, mostLines)
        .map((pair) => ({ from: pair.origin, to: pair.destination, trips: pair.trips }));
    }
    map.show({ fills: new Map(rows.map((row) => [row.zone, classes.of(value(row))])), lines, chosen: state.zone });
    const title = state.zone < 0 ? `${words[state.side][0]}, ${unitWords()}` : `${opposite[state.side]}s, ${unitWords()}`;
    map.legend(title[0].toUpperCase() + title.slice(1), classes, "none, or too few people");
  };

  // --- timeline ---
  const hours = bins.map((bin) => Date.parse(bin.start.replace("Z", ":00Z")));
  const step = Math.min(...hours.slice(1).map((hour, i) => hour - hours[i]));
  const at = hours.map((hour) => (bins.length > 1 ? Math.round((hour - hours[0]) / step) : 0));
  const timePlot = odanon.bars(byId("trips-per-bin"));
  const showTime = () => {
    const values = flows.perBin(state, bins.length);
    const whose = state.zone < 0 ? "published trips" : `published trips ${words[state.side][2]} the chosen area`;
    timePlot.show({
      name: "Published trips per time bin", x: `${whose}, by start of the time bin`, height: 120, format: number,
      labels: bins.map((bin) => bin.label), at, slots: at[at.length - 1] + 1, chosen: state.bin,
      series: [{ name: "trips", class: `fill-${state.side}`, values }],
      tip: (i) => [bins[i].label, odanon.count(values[i], "trip", "trips")],
      pick: (i) => choose({ bin: i === state.bin ? -1 : i }),
    });
    byId("when").value = `${when()}: ${odanon.count(state.bin < 0 ? sum(values) : values[state.bin], "trip", "trips")}`;
    byId("time").value = Math.max(0, state.bin);
    byId("time").classList.toggle("idle", state.bin < 0);
    byId("time").setAttribute("aria-valuetext", when());
    byId("all-times").setAttribute("aria-pressed", state.bin < 0);
  };

  // --- panel ---
  const table = odanon.table(byId("table"));
  const area = { name: "Area", text: true, value: (row) => zones[row.zone].id, show: (row) => zones[row.zone].id };
  const trips = { name: "Trips", main: true, value: (row) => row.trips, show: (row) => number(row.trips) };
  const people = { name: "People", value: (row) => row.bands[1] * 100 + row.bands[0], show: band };
  const tiles = { name: "Tiles", value: (row) => zones[row.zone].tiles, show: (row) => number(zones[row.zone].tiles) };
  const showPanel = () => {
    const total = rows.reduce((sum, row) => sum + row.trips, 0);
    const [, noun, from, to] = words[state.side];
    byId("clear").hidden = state.zone < 0;
    byId("table-choice").hidden = state.zone >= 0;
    const hover = (row) => map.mark(row ? (row.zone ?? row.destination) : -1);
    if (state.zone >= 0) {
      byId("panel-title").replaceChildren(`${from[0].toUpperCase()}${from.slice(1)} `, el("bdi", {}, zones[state.zone].id));
      byId("panel-text").textContent = rows.length
        ? `${when()}: ${odanon.count(total, "trip", "trips")} ${to} ${odanon.count(rows.length, "area", "areas")}. This area: ${describe(state.zone)}.`
        : `${when()}: nothing published for this area. This area: ${describe(state.zone)}.`;
      const share = { name: "Share", value: (row) => row.trips, show: (row) => percent(row.trips / total) };
      table.show([{ ...area, name: opposite[state.side][0].toUpperCase() + opposite[state.side].slice(1) }, trips, share, people, tiles], rows,
        { hover, pick: (row) => map.mark(row.zone) });
      return;
    }
    byId("panel-title").textContent = `${when()}: ${odanon.count(rows.length, `${noun} area`, `${noun} areas`)}`;
    byId("panel-text").textContent = `Choose an area, on the map or here, to see where its trips ${state.side === "origin" ? "go" : "come from"}.`;
    if (state.table === "areas") {
      const ends = { name: `${opposite[state.side][0].toUpperCase()}${opposite[state.side].slice(1)}s`, value: (row) => row.partners, show: (row) => number(row.partners) };
      table.show([area, trips, ends, tiles], rows, { hover, pick: (row) => choose({ zone: row.zone }) });
    } else {
      const end = (side) => ({ name: side[0].toUpperCase() + side.slice(1), text: true, value: (row) => zones[row[side]].id, show: (row) => zones[row[side]].id });
      table.show([end("origin"), end("destination"), trips, people], flows.pairs(state, zones.length),
        { hover, pick: (row) => choose({ zone: row[state.side] }) });
    }
  };

  // --- controls ---
  const press = (name) => document.querySelectorAll(`[data-${name}]`).forEach((button) => {
    button.setAttribute("aria-pressed", button.dataset[name] === state[name]);
  });
  const showAll = () => {
    odanon.tip.hide();
    map.mark(-1);
    ["side", "measure", "table"].forEach(press);
    byId("segment").value = state.segment;
    byId("lines").checked = state.lines;
    showMap(); showTime(); showPanel();
  };
  const choose = (change) => { Object.assign(state, change); writeAddress(); showAll(); };

  document.querySelectorAll("[data-side]").forEach((b) => b.addEventListener("click", () => choose({ side: b.dataset.side, zone: -1 })));
  document.querySelectorAll("[data-measure]").forEach((b) => b.addEventListener("click", () => choose({ measure: b.dataset.measure })));
  document.querySelectorAll("[data-table]").forEach((b) => b.addEventListener("click", () => choose({ table: b.dataset.table })));
  byId("lines").addEventListener("change", (event) => choose({ lines: event.target.checked }));
  byId("clear").addEventListener("click", () => choose({ zone: -1 }));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && state.zone >= 0) choose({ zone: -1 }); });
  window.addEventListener("hashchange", () => { readAddress(); showAll(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showAll);

  byId("segment").append(el("option", { value: -1 }, "all together"), ...data.segments.map((name, i) => el("option", { value: i }, name)));
  byId("segment").addEventListener("change", (event) => choose({ segment: Number(event.target.value) }));
  byId("segment-choice").hidden = data.segments.length < 2;

  byId("all-times").textContent = everything;
  byId("all-times").addEventListener("click", () => choose({ bin: -1 }));
  byId("time").max = bins.length - 1;
  byId("time").addEventListener("input", (event) => choose({ bin: Number(event.target.value) }));
  let clock = null;
  const stop = () => { clearInterval(clock); clock = null; byId("play").textContent = "▶"; byId("play").setAttribute("aria-pressed", false); };
  byId("play").addEventListener("click", () => {
    if (clock) { stop(); return; }
    byId("play").textContent = "❚❚";
    byId("play").setAttribute("aria-pressed", true);
    clock = setInterval(() => choose({ bin: (state.bin + 1) % bins.length }), 900);
  });
  ["pointerdown", "keydown"].forEach((kind) => byId("time").addEventListener(kind, stop));
  document.querySelector(".timeline").hidden = bins.length < 2;

  // --- plots of the whole release ---
  const shares = (list) => { const all = sum(list) || 1; return list.map((v) => v / all); };
  const fewSizes = 9;
  // Classes of area sizes: the sizes themselves where a regular hierarchy has only a few, else doubling.
  const sizeClasses = () => {
    const sizes = [...new Set(data.zones.tiles)].sort((a, b) => a - b);
    if (sizes.length <= fewSizes) return { edges: sizes, labels: sizes.map(number) };
    const edges = [1];
    while (edges[edges.length - 1] * 2 <= sizes[sizes.length - 1]) edges.push(edges[edges.length - 1] * 2);
    return { edges, labels: odanon.classLabels(edges, edges[edges.length - 1] * 2 - 1) };
  };
  const showPlots = () => {
    const table = data.flows;
    const { edges, labels } = sizeClasses();
    const sizes = (ends) => ends.map((zone) => data.zones.tiles[zone]);
    const bySize = [["origins", table.o, "origin"], ["destinations", table.d, "destination"]].map(([name, ends, side]) => (
      { name, class: `fill-${side}`, values: shares(odanon.histogram(sizes(ends), table.trips, edges)) }));
    odanon.bars(byId("area-sizes")).show({
      name: "Share of trips by size of area", x: "tiles in the area", labels, series: bySize, format: percent,
      tip: (i) => [`${labels[i]} ${labels[i] === "1" ? "tile" : "tiles"}`, ...bySize.map((s) => `${s.name}: ${percent(s.values[i])} of the trips`)],
    });

    const [least, most] = table.trips.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, 0]);
    const limits = [];
    for (let power = 10 ** Math.floor(Math.log10(least)); power <= most; power *= 10) limits.push(power, 2 * power, 5 * power);
    const cuts = limits.filter((limit, i) => limit <= most && (i + 1 >= limits.length || limits[i + 1] > least));
    const flowLabels = odanon.classLabels(cuts, limits.find((limit) => limit > most) - 1 || most);
    const counts = odanon.histogram(table.trips, null, cuts);
    odanon.bars(byId("flow-sizes")).show({
      name: "Flows by trips", x: "trips in the flow", labels: flowLabels, format: number,
      series: [{ name: "flows", class: "fill-plain", values: counts }],
      tip: (i) => [`${flowLabels[i]} trips`, odanon.count(counts[i], "flow", "flows"), `${percent(counts[i] / sum(counts))} of the flows`],
    });

    byId("people-figure").hidden = !data.bands.length;
    const flowsBy = data.bands.map(() => 0);
    const tripsBy = data.bands.map(() => 0);
    table.band.forEach((b, i) => { if (b >= 0) { flowsBy[b] += 1; tripsBy[b] += table.trips[i]; } });
    const byBand = [{ name: "flows", class: "fill-plain", values: shares(flowsBy) }, { name: "trips", class: "fill-soft", values: shares(tripsBy) }];
    if (data.bands.length) {
      odanon.bars(byId("people-bands")).show({
        name: "Flows and trips by band of people", x: "people behind the flow", labels: data.bands, series: byBand, format: percent,
        tip: (i) => [`${data.bands[i]} people`, ...byBand.map((s) => `${percent(s.values[i])} of the ${s.name}`)],
      });
    }
  };

  readAddress();
  showAll();
  showPlots();
})();
