"use strict";
// What is chosen, in one place; the address keeps it, so that a link shows the same.
(() => {
  const longest = 60000; // characters of an address that programs still hand on
  const fresh = () => ({
    product: null,
    a: {}, // {since, until} in days, until exclusive, or {month}; empty for everything
    b: null, // the second period, where two are compared
    which: "a", // the one that the calendar sets
    days: null,
    clock: null,
    segment: null,
    side: "origin",
    zone: null, // the id of the chosen published area
    measure: "density",
    lines: 40,
    panel: "published",
    table: "areas",
    areas: [],
    pair: null, // [origin, destination] among the areas
    fold: "day",
    step: "3h", // of a day
    reading: "auto",
    view: null, // {lon, lat, scale} in pixels a metre, once the map was moved
  });
  const state = fresh();
  const listeners = [];
  const plain = { days: null, clock: null, segment: null, zone: null, side: "origin", measure: "density" };
  Object.assign(plain, { panel: "published", table: "areas", fold: "day", step: "3h", reading: "auto" });
  const choices = {
    side: ["origin", "destination"],
    measure: ["density", "trips"],
    panel: ["published", "areas"],
    table: ["areas", "flows"],
    fold: ["day", "week", "none"],
    step: ["1h", "3h"],
  };
  // Days and months that exist, as 2026-03-02 and 2026-03.
  const isDay = (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00Z`));

  const period = (asked, mark) => {
    const month = asked.get(`month${mark}`);
    if (isDay(`${month}-01`)) return { month };
    const [since, until] = [asked.get(`since${mark}`), asked.get(`until${mark}`)];
    return isDay(since) && isDay(until) && since < until ? { since, until } : null;
  };
  const read = async () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    const next = fresh();
    next.product = asked.get("product");
    next.a = period(asked, "") || (asked.has("all") ? {} : null);
    next.b = period(asked, "2");
    for (const name of Object.keys(plain)) {
      const value = asked.get(name);
      if (value !== null && (!choices[name] || choices[name].includes(value))) next[name] = value;
    }
    if (["0", "40", "400", "4000"].includes(asked.get("lines"))) next.lines = Number(asked.get("lines"));
    const at = (asked.get("map") || "").split(",").map(Number);
    if (at.length === 3 && at.every(Number.isFinite) && at[2] > 0) next.view = { lon: at[0], lat: at[1], scale: at[2] };
    let trouble = null;
    if (asked.has("areas")) {
      try {
        next.areas = await odanon.shapes.unpack(asked.get("areas"));
      } catch {
        trouble = "The areas of this link cannot be read; ask for the link again, whole.";
      }
    }
    const pair = (asked.get("pair") || "").split(",").map(Number);
    if (pair.length === 2 && pair.every((i) => next.areas[i])) next.pair = pair;
    Object.assign(state, next);
    return trouble;
  };

  let packed = { of: null, text: "" };
  const address = async () => {
    const told = new URLSearchParams();
    if (state.product) told.set("product", state.product);
    const tell = (chosen, mark) => Object.entries(chosen).forEach(([name, value]) => told.set(name + mark, value));
    if (state.a && Object.keys(state.a).length) tell(state.a, "");
    else told.set("all", "");
    if (state.b) tell(state.b, "2");
    for (const [name, value] of Object.entries(plain)) if (state[name] !== value) told.set(name, state[name]);
    if (state.lines !== 40) told.set("lines", state.lines);
    if (state.view) {
      const { lon, lat, scale } = state.view;
      told.set("map", [lon.toFixed(5), lat.toFixed(5), scale.toPrecision(5)].join());
    }
    if (state.areas.length) {
      if (packed.of !== state.areas) packed = { of: state.areas, text: await odanon.shapes.pack(state.areas) };
      told.set("areas", packed.text);
      if (state.pair) told.set("pair", state.pair.join());
    }
    return `#${told}`;
  };
  let timer = null;
  let written = null;
  const write = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const text = await address();
      if (text.length > longest) return;
      written = text;
      history.replaceState(null, "", text);
    }, 120);
  };

  odanon.state = state;
  // Something else is chosen; those who listen hear which names changed.
  odanon.choose = (change) => {
    const names = Object.keys(change).filter((name) => state[name] !== change[name]);
    if (!names.length) return;
    Object.assign(state, change);
    write();
    listeners.forEach((listener) => listener(new Set(names)));
  };
  odanon.onChoice = (listener) => listeners.push(listener);
  odanon.address = { read, write, whole: address, longest, isOurs: () => location.hash === written };
})();
