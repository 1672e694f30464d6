"use strict";
// The release report: one state (area, time bin, segment, direction, measure), shown by map, timeline and table.
(() => {
  const { el, byId, number, percent, count } = odanon;
  const release = JSON.parse(byId("data").textContent);
  const data = odanon.inBins(release);
  const zones = odanon.readZones(data.zones);
  const flows = odanon.readFlows(data.flows, zones);
  const bins = data.bins;
  const who = odanon.who(data);
  const opposite = { origin: "destination", destination: "origin" };
  const wholeWindow = bins.every((bin) => /^\d\d:\d\d/.test(bin.label)) ? "All day" : "All times";
  const mostLines = 40;
  const state = {
    side: "origin",
    zone: -1,
    bin: -1,
    segment: -1,
    measure: "density",
    lines: true,
    table: "areas",
    partner: -1,
  };
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const capital = (word) => word[0].toUpperCase() + word.slice(1);

  // --- the address keeps the state, so that a view can be shared ---
  const indexOfZone = new Map(data.zones.id.map((id, i) => [id, i]));
  const readAddress = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    state.side = asked.has("destination") || asked.get("show") === "arrivals" ? "destination" : "origin";
    state.zone = indexOfZone.get(asked.get(state.side)) ?? -1;
    state.partner = state.zone < 0 ? -1 : (indexOfZone.get(asked.get("with")) ?? -1);
    state.bin = bins.findIndex((bin) => bin.start === asked.get("bin"));
    state.segment = data.segments.indexOf(asked.get("segment"));
    state.measure = asked.get("colour") === "trips" ? "trips" : "density";
    state.table = asked.get("table") === "flows" ? "flows" : "areas";
  };
  const writeAddress = () => {
    const address = new URLSearchParams();
    if (state.zone >= 0) address.set(state.side, zones[state.zone].id);
    else if (state.side === "destination") address.set("show", "arrivals");
    if (state.partner >= 0) address.set("with", zones[state.partner].id);
    if (state.bin >= 0) address.set("bin", bins[state.bin].start);
    if (state.segment >= 0) address.set("segment", data.segments[state.segment]);
    if (state.measure === "trips") address.set("colour", "trips");
    if (state.table === "flows") address.set("table", "flows");
    // A page inside a sandboxed frame may not touch its address; everything else works without.
    try {
      history.replaceState(null, "", `#${address}`);
    } catch {
      /* nothing to undo */
    }
  };

  // --- words ---
  const when = () => (bins.length === 1 ? bins[0].label : state.bin < 0 ? wholeWindow : bins[state.bin].label);
  const sizeOf = (zone) => `${count(zones[zone].tiles, "tile", "tiles")}, ${number(zones[zone].km2)} km²`;
  const bandOf = (row) => {
    const [low, high] = row.bands;
    if (low < 0) return "–";
    return low === high ? data.bands[low] : `${data.bands[low].split("-")[0]}-${data.bands[high].split("-").pop()}`;
  };

  // --- map ---
  let chosen = -1; // the area whose flows are shown
  let rows = [];
  let byZone = new Map();
  const rowsOf = (view) => {
    if (view.zone < 0) return flows.areas(view);
    const zone = flows.standIn(view);
    return zone < 0 ? [] : flows.partners({ ...view, zone });
  };
  const valuesOf = (list) => flows.values(list, state.measure);
  // Single bins share one set of classes, so colours can be compared while stepping through the day.
  const classesOf = (values) => {
    const all =
      state.bin < 0
        ? [...values.values()]
        : bins.flatMap((_, bin) => [...valuesOf(rowsOf({ ...state, bin })).values()]);
    return odanon.classes(odanon.breaks(all), odanon.ramp(state.zone < 0 ? state.side : opposite[state.side]));
  };
  const published = (under) => under.filter((zone) => flows.trips(state, zone) > 0);
  const map = odanon.map(byId("map"), zones, {
    first: flows.crowded(),
    hover: (under, event) => {
      const here = under.filter((zone) => byZone.has(zone));
      map.mark(here.length ? here[0] : -1);
      byId("map").classList.toggle("pickable", published(under).length > 0);
      if (here.length) odanon.tip.show(linesFor(here), event.clientX, event.clientY);
      else odanon.tip.hide();
    },
    // A second click at the same place reaches the next larger area below; after the last, none.
    pick: (under) => {
      const here = published(under);
      choose({ zone: here[here.indexOf(chosen) + 1] ?? -1 });
    },
  });
  const linesFor = ([zone, ...larger]) => {
    const row = byZone.get(zone);
    const lines = [el("bdi", {}, zones[zone].name || zones[zone].id), count(row.trips, "trip", "trips")];
    if (row.coarse) lines.push(`${percent(row.coarse / row.trips)} of them told coarsely, as rests`);
    if (state.zone >= 0 && data.bands.length)
      lines.push(`${bandOf(row)} ${who} per ${data.spans ? "row" : "time bin"}`);
    if (data.spans) lines.push(toldFor(row));
    if (state.zone < 0) lines.push(count(row.partners, opposite[state.side], `${opposite[state.side]}s`));
    lines.push(sizeOf(zone));
    if (state.measure === "density") lines.push(`${number(values.get(zone))} trips per km² here`);
    if (larger.length)
      lines.push(
        `also in ${count(larger.length, "larger area", "larger areas")} around it: ${count(sum(larger.map((z) => byZone.get(z).trips)), "trip", "trips")}`,
      );
    return lines;
  };
  // The times that the numbers of a row are told for; those of several bins are spread evenly over them.
  const toldFor = (row) => {
    const spans = [...row.spans].sort((a, b) => a - b).map((span) => data.spans[span]);
    return spans.length > 3 ? `told for ${spans.length} different times` : `told for ${spans.join(", ")}`;
  };
  let values = new Map();
  const linesOnMap = () => {
    if (!state.lines) return [];
    return chosen >= 0 || state.table === "flows" ? flows.lines({ ...state, zone: chosen }, mostLines) : [];
  };
  const showMap = () => {
    chosen = flows.standIn(state);
    rows = rowsOf(state);
    byZone = new Map(rows.map((row) => [row.zone, row]));
    values = valuesOf(rows);
    const classes = classesOf(values);
    map.show({
      fills: new Map([...values].map(([zone, value]) => [zone, classes.of(value)])),
      lines: linesOnMap(),
      chosen,
      asked: state.zone,
    });
    const what = state.zone >= 0 ? `${opposite[state.side]}s` : state.side === "origin" ? "departures" : "arrivals";
    map.legend(
      `${capital(what)}, ${state.measure === "density" ? "trips per km²" : "trips"}`,
      classes,
      `none, or too few ${who}`,
    );
  };

  // --- timeline ---
  const starts = bins.map((bin) => Date.parse(bin.start.replace("Z", ":00Z")));
  const uneven = bins.some((bin) => bin.hours); // of different lengths: compared by the hour
  const onClock = uneven && !data.told; // bins of several days lie side by side instead
  const hour = 3600e3;
  const width = onClock
    ? Math.min(...bins.map((bin) => bin.hours)) * hour
    : Math.min(...starts.slice(1).map((start, i) => start - starts[i]));
  const places = starts.map((start) => (bins.length > 1 ? (start - starts[0]) / width : 0)); // in slots
  const wide = onClock ? bins.map((bin) => (bin.hours * hour) / width) : null;
  const at = onClock || data.told ? bins.map((_, i) => i) : places.map(Math.round); // steps of the slider
  const steps = at.at(-1) + 1;
  const slots = onClock ? places.at(-1) + wide.at(-1) : steps;
  const timePlot = odanon.bars(byId("trips-per-bin"));
  const showTime = () => {
    const pair =
      state.partner < 0 ? null : state.side === "origin" ? [state.zone, state.partner] : [state.partner, state.zone];
    const exact = bins.map((_, bin) =>
      pair
        ? flows.between({ ...state, bin }, ...pair)
        : state.zone < 0
          ? sum(flows.areas({ ...state, bin }).map((row) => row.trips))
          : flows.trips({ ...state, bin }, state.zone),
    );
    const stands = bins.map((_, bin) => flows.standIn({ ...state, bin }));
    const marked = bins.map((_, i) => !pair && stands[i] >= 0 && stands[i] !== state.zone);
    const whose = pair
      ? "trips between the two chosen areas, estimated from the areas of each time bin,"
      : state.zone < 0
        ? "published trips"
        : `published trips ${state.side === "origin" ? "from" : "to"} the chosen area`;
    const even = data.spans ? ", rows of a longer time spread evenly over it" : "";
    const note = even + (marked.includes(true) ? " (pale: published for larger or smaller areas)" : "");
    timePlot.show({
      name: "Published trips per time bin",
      x: `${whose} ${uneven ? "an hour, " : ""}by start of the time bin${note}`,
      height: 120,
      format: odanon.axisNumber,
      labels: bins.map((bin) => bin.label),
      at: onClock ? places : at,
      slots,
      wide,
      marked,
      chosen: state.bin,
      series: [
        {
          name: uneven ? "trips an hour" : "trips",
          class: `fill-${state.side}`,
          values: exact.map((trips, i) => trips / (bins[i].hours || 1)),
        },
      ],
      tip: (i) => [
        bins[i].label,
        !marked[i]
          ? count(exact[i], "trip", "trips") + (uneven ? ` in ${count(bins[i].hours, "hour", "hours")}` : "")
          : `published for ${zones[stands[i]].km2 > zones[state.zone].km2 ? "a larger area" : "smaller areas"} instead`,
      ],
      pick: (i) => choose({ bin: i === state.bin ? -1 : i }),
    });
    const total = Math.round(10 * sum(rows.map((row) => row.trips))) / 10; // parts of rows are rounded
    byId("when").value = `${when()}: ${count(total, "trip", "trips")}`;
    byId("time").value = at[Math.max(0, state.bin)];
    byId("time").classList.toggle("idle", state.bin < 0);
    byId("time").setAttribute("aria-valuetext", when());
    byId("all-times").setAttribute("aria-pressed", state.bin < 0);
  };

  // --- panel ---
  const table = odanon.table(byId("table"));
  const zoneColumn = (name, key) => ({
    name,
    text: true,
    value: (row) => zones[row[key]].name || zones[row[key]].id,
    show: (row) => odanon.nameOf(zones[row[key]]),
    title: (row) => odanon.fullName(zones[row[key]]),
  });
  const trips = { name: "Trips", main: true, value: (row) => row.trips, show: (row) => number(row.trips) };
  const people = { name: capital(who), value: (row) => row.bands[1] * 100 + row.bands[0], show: bandOf };
  const tiles = { name: "Tiles", value: (row) => zones[row.zone].tiles, show: (row) => number(zones[row.zone].tiles) };
  const coarse = {
    name: "Coarse",
    value: (row) => row.coarse / row.trips,
    show: (row) => (row.coarse ? percent(row.coarse / row.trips) : "–"),
  };
  const told = flows.hasRests ? [trips, coarse] : [trips];
  const times = {
    name: "Told for",
    text: true,
    value: (row) => Math.min(...row.spans),
    show: (row) => (row.spans.size > 1 ? `${row.spans.size} times` : data.spans[[...row.spans][0]]),
  };
  if (data.spans) told.push(times);
  const hover = (row) => map.mark(row ? row.zone : -1);
  const showOverview = () => {
    const far = opposite[state.side];
    byId("panel-title").textContent = `${when()}: ${count(rows.length, `${state.side} area`, `${state.side} areas`)}`;
    byId("panel-text").textContent =
      `Choose an area, on the map or here, to see where its trips ${state.side === "origin" ? "go" : "come from"}.`;
    if (state.table === "flows") {
      const pairs = flows.pairs(state).map((row) => ({ ...row, zone: row[far] }));
      table.show([zoneColumn("Origin", "origin"), zoneColumn("Destination", "destination"), ...told], pairs, {
        hover,
        pick: (row) => choose({ zone: row[state.side] }),
      });
    } else {
      const ends = { name: capital(`${far}s`), value: (row) => row.partners, show: (row) => number(row.partners) };
      table.show([zoneColumn("Area", "zone"), ...told.filter((column) => column !== times), ends, tiles], rows, {
        hover,
        pick: (row) => choose({ zone: row.zone }),
      });
    }
  };
  // Origins may lie inside each other, too: what larger areas tell may be of trips from here.
  const aroundChosen = () => {
    const more = chosen < 0 ? 0 : sum(flows.around[chosen].map((zone) => flows.trips(state, zone)));
    return more
      ? ` Larger areas around it tell ${count(more, "trip", "trips")} more, ${state.side === "origin" ? "from" : "to"} here or elsewhere in them.`
      : "";
  };
  const showChoice = () => {
    const total = sum(rows.map((row) => row.trips));
    const name = el("bdi", {}, odanon.fullName(zones[chosen < 0 ? state.zone : chosen]));
    byId("panel-title").replaceChildren(state.side === "origin" ? "From " : "To ", name);
    byId("panel-text").textContent =
      chosen < 0
        ? `${when()}: nothing is published here.`
        : `${when()}: ${count(total, "trip", "trips")} ${state.side === "origin" ? "to" : "from"} ${count(rows.length, "area", "areas")}. Size: ${sizeOf(chosen)}.` +
          (chosen === state.zone
            ? ""
            : ` It stands in for the ${zones[chosen].km2 > zones[state.zone].km2 ? "smaller" : "larger"} area you chose, which has no flows of its own at this time.`) +
          aroundChosen() +
          (bins.length < 2
            ? ""
            : state.partner < 0
              ? " Choose a row to follow that flow through time."
              : ` The timeline follows the flow with ${odanon.fullName(zones[state.partner])}.`);
    const share = { name: "Share", value: (row) => row.trips, show: (row) => percent(row.trips / total) };
    const columns = [
      zoneColumn(capital(opposite[state.side]), "zone"),
      ...told,
      share,
      ...(data.bands.length ? [people] : []),
      tiles,
    ];
    table.show(columns, rows, {
      hover,
      pick: (row) => choose({ partner: row.zone === state.partner ? -1 : row.zone }),
    });
  };
  const showPanel = () => {
    byId("clear").hidden = state.zone < 0;
    byId("table-choice").hidden = state.zone >= 0;
    if (state.zone < 0) showOverview();
    else showChoice();
  };

  // --- controls ---
  const showAll = () => {
    odanon.tip.hide();
    map.mark(-1);
    for (const name of ["side", "measure", "table"]) {
      document
        .querySelectorAll(`[data-${name}]`)
        .forEach((button) => button.setAttribute("aria-pressed", button.dataset[name] === state[name]));
    }
    byId("segment").value = state.segment;
    byId("lines").checked = state.lines;
    showMap();
    showTime();
    showPanel();
  };
  const choose = (change) => {
    Object.assign(state, "zone" in change ? { partner: -1 } : {}, change);
    writeAddress();
    showAll();
  };
  const onEach = (selector, kind, act) =>
    document.querySelectorAll(selector).forEach((node) => node.addEventListener(kind, () => act(node)));

  onEach("[data-side]", "click", (button) => choose({ side: button.dataset.side, zone: -1 }));
  onEach("[data-measure]", "click", (button) => choose({ measure: button.dataset.measure }));
  onEach("[data-table]", "click", (button) => choose({ table: button.dataset.table }));
  onEach("#lines", "change", (box) => choose({ lines: box.checked }));
  onEach("#clear", "click", () => choose({ zone: -1 }));
  onEach("#segment", "change", (list) => choose({ segment: Number(list.value) }));
  onEach("#all-times", "click", () => {
    stop();
    choose({ bin: -1 });
  });
  // The slider runs over the clock; moving it into a gap without flows goes on to the next bin that has some.
  onEach("#time", "input", (slider) => {
    const place = Number(slider.value);
    const later = at.findIndex((slot) => slot >= place);
    choose({ bin: place >= at[Math.max(0, state.bin)] ? later : at.findLastIndex((slot) => slot <= place) });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.zone >= 0) choose({ zone: -1 });
  });
  window.addEventListener("hashchange", () => {
    readAddress();
    showAll();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showAll);

  let clock = null;
  const stop = () => {
    clearInterval(clock);
    clock = null;
    byId("play").textContent = "▶";
    byId("play").setAttribute("aria-pressed", false);
  };
  onEach("#play", "click", (button) => {
    if (clock) {
      stop();
      return;
    }
    button.textContent = "❚❚";
    button.setAttribute("aria-pressed", true);
    clock = setInterval(() => choose({ bin: (state.bin + 1) % bins.length }), 900);
  });
  onEach("#time", "pointerdown", stop);
  onEach("#time", "keydown", stop);

  byId("all-times").textContent = wholeWindow;
  byId("time").max = steps - 1;
  byId("time").style.setProperty("--slots", steps);
  document.querySelector(".timeline").hidden = bins.length < 2;
  byId("segment").append(
    el("option", { value: -1 }, "all together"),
    ...data.segments.map((name, i) => el("option", { value: i }, name === "all" ? "flows that are not split" : name)),
  );
  byId("segment-choice").hidden = data.segments.length < 2;

  readAddress();
  showAll();
  odanon.releasePlots(release);
})();
